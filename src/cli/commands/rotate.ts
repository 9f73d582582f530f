import { ofOwner, own } from '../../contract/own-words.ts';
import { UnreadableAnswer } from '../../sdk/errors.ts';
import { type Cli, type Command, type CommandOutput, connectTo } from '../cli.ts';
import type { Finished } from '../finish-pending-change.ts';
import { secretsOf } from '../identity.ts';
import { findFile, marketOf, namedFile, noIdentity, readKey } from '../open-account.ts';
import { MERCHANT_OPTIONS } from '../options.ts';
import { pendingOf, resumeIdentityCommand, runIdentityCommand } from '../run-identity-command.ts';

/** Replaces the current key. The file contains both keys until the confirmation is known. */
async function rotateKey(cli: Cli): Promise<CommandOutput> {
  const { options } = cli;
  if (options.resume === true)
    return reportRotated(await resumeIdentityCommand(cli, { path: await findFile(cli), door: 'rotate' }));
  const typedKey = options['key-stdin'] === true ? await readKey(cli) : null;
  // A key from standard input needs no file, because the market's answer says whose key it is.
  const path = typedKey === null ? await findFile(cli) : namedFile(cli);
  return reportRotated(
    await runIdentityCommand(cli, {
      path,
      market: (content, at) => marketOf(cli, content, at),
      begin: async (content, market) => {
        const currentKey = typedKey ?? content?.merchant_key ?? null;
        if (currentKey === null)
          throw noIdentity(own`${ofOwner(path ?? 'The file')} has no key`, own`Name another file, or use --key-stdin.`);
        const { body: staged } = await connectTo(cli, market)().rotate({ key: currentKey, body: { action: 'begin' } });
        if (staged.status !== 'staged')
          throw new UnreadableAnswer('unexpected', own`the answer doesn’t fit a rotation`);
        return { pending: pendingOf('rotate', staged), handle: staged.handle, currentKey };
      },
    }),
  );
}

function reportRotated({ path, content }: Finished): CommandOutput {
  const { handle, merchant_id, market } = content;
  return {
    lines: [
      `${handle} has a new key, in ${path}. The old one no longer works anywhere.`,
      'The recovery codes stay valid. Programs that use the hosted connector must be paired again.',
    ],
    json: { market, handle, merchant_id, file: path },
    secrets: secretsOf(content),
  };
}

export const rotate: Command = {
  name: 'rotate',
  summary: 'replaces the current key; the recovery codes stay valid, hosted grants and pairing codes end',
  positionals: [],
  options: [...MERCHANT_OPTIONS, 'resume', 'reveal'],
  examples: ['openaisle rotate', 'openaisle rotate --resume'],
  run: rotateKey,
};
