import { ofOwner, own } from '../../contract/own-words.ts';
import { UnreadableAnswer } from '../../sdk/errors.ts';
import { type Cli, type Command, connectTo, type Done } from '../cli.ts';
import { toCliError } from '../cli-error.ts';
import type { Finished } from '../finish-pending-change.ts';
import { secretsOf } from '../identity.ts';
import { findFile, marketOf, namedFile, noIdentity, readKey } from '../open-account.ts';
import { OF_A_MERCHANT } from '../options.ts';
import { pendingOf, resumeIdentityCommand, runIdentityCommand } from '../run-identity-command.ts';

/** Puts a new key in the place of the current one. Until the confirm is known the file holds both. */
async function rotateKey(cli: Cli): Promise<Done> {
  const { options } = cli;
  if (options.resume === true)
    return reportRotated(await resumeIdentityCommand(cli, { path: await findFile(cli), door: 'rotate' }));
  const given = options['key-stdin'] === true ? await readKey(cli) : null;
  // With a key of its own no file is needed: the answer tells whose it is.
  const path = given === null ? await findFile(cli) : namedFile(cli);
  return reportRotated(
    await runIdentityCommand(cli, {
      path,
      market: (content, at) => marketOf(cli, content, at),
      begin: async (content, market) => {
        const currentKey = given ?? content?.merchant_key ?? null;
        if (currentKey === null)
          throw noIdentity(
            own`There is no key in ${ofOwner(path ?? 'the file')}`,
            own`Name another file, or use --key-stdin.`,
          );
        const { body: staged } = await connectTo(cli, market)()
          .rotate({ key: currentKey, body: { action: 'begin' } })
          .catch((error: unknown) => {
            throw toCliError(error);
          });
        if (staged.status !== 'staged') throw new UnreadableAnswer('unexpected', own`the answer is not one to a begin`);
        return { pending: pendingOf('rotate', staged), handle: staged.handle, currentKey };
      },
    }),
  );
}

function reportRotated({ path, content }: Finished): Done {
  const { handle, merchant_id, market } = content;
  return {
    lines: [
      `${handle} has a new key, in ${path}. The old one is over everywhere.`,
      'The recovery codes stay. What was linked to the hosted connector has to be paired again.',
    ],
    json: { market, handle, merchant_id, file: path },
    secrets: secretsOf(content),
  };
}

export const rotate: Command = {
  name: 'rotate',
  summary: 'puts a new key in the place of the current one; the codes stay, hosted grants and pairing codes end',
  positionals: [],
  options: [...OF_A_MERCHANT, 'resume', 'reveal'],
  examples: ['openaisle rotate', 'openaisle rotate --resume'],
  run: rotateKey,
};
