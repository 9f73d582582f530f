import { UnreadableAnswer } from '../../sdk/unreadable-answer.ts';
import { type Cli, connectTo, type Done } from '../cli.ts';
import { toCliError } from '../cli-error.ts';
import { findFile, marketOf, namedFile, noIdentity } from '../files/find-file.ts';
import { readKey } from '../read-key.ts';
import { secretsOf } from '../secrets-of.ts';
import type { Finished } from '../stages/finish-pending.ts';
import { pendingOf, resumeDoor, runDoor } from '../stages/run-door.ts';

/** Puts a new key in the place of the current one. Until the confirm is known the file holds both. */
export async function rotate(cli: Cli): Promise<Done> {
  const { options } = cli;
  if (options.resume === true) return told(await resumeDoor(cli, { path: await findFile(cli), door: 'rotate' }));
  const given = options['key-stdin'] === true ? await readKey(cli) : null;
  // With a key of its own no file is needed: the answer tells whose it is.
  const path = given === null ? await findFile(cli) : namedFile(cli);
  return told(
    await runDoor(cli, {
      path,
      market: (content, at) => marketOf(cli, content, at),
      begin: async (content, market) => {
        const currentKey = given ?? content?.merchant_key ?? null;
        if (currentKey === null)
          throw noIdentity(`There is no key in ${path}`, 'Name another file, or use --key-stdin.');
        const { body: staged } = await connectTo(cli, market)()
          .rotate({ key: currentKey, body: { action: 'begin' } })
          .catch((error: unknown) => {
            throw toCliError(error);
          });
        if (staged.status !== 'staged') throw new UnreadableAnswer('unexpected', 'the answer is not one to a begin');
        return { pending: pendingOf('rotate', staged), handle: staged.handle, currentKey };
      },
    }),
  );
}

function told({ path, content }: Finished): Done {
  const { handle, merchant_id, market } = content;
  return {
    lines: [
      `${handle} has a new key, in ${path}. The old one is over everywhere.`,
      'The recovery codes stay. What was linked to the hosted connector has to be paired again.',
    ],
    json: { status: 'confirmed', market, handle, merchant_id, file: path },
    secrets: secretsOf(content),
  };
}
