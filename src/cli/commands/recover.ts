import { own } from '../../contract/own-words.ts';
import { MarketError, UnreadableAnswer } from '../../sdk/errors.ts';
import { type Cli, type Command, type CommandOutput, connectTo } from '../cli.ts';
import { CliError, wrongUse } from '../cli-error.ts';
import type { Finished } from '../finish-pending-change.ts';
import { type Identity, secretsOf, usableCodes } from '../identity.ts';
import { findFile, marketOf, namedFile, readCode } from '../open-account.ts';
import { pendingOf, resumeIdentityCommand, runIdentityCommand, type StartedChange } from '../run-identity-command.ts';

async function recoverStore(cli: Cli): Promise<CommandOutput> {
  const { options } = cli;
  if (options.resume === true)
    return reportRecovered(await resumeIdentityCommand(cli, { path: await findFile(cli), door: 'recovery' }));
  const typedCode = options['code-stdin'] === true ? await readCode(cli) : null;
  const path = typedCode === null ? await fileIfAny(cli) : namedFile(cli);
  return reportRecovered(
    await runIdentityCommand(cli, {
      path,
      market: (content, at) => marketOf(cli, content, at),
      begin: async (content, market) =>
        beginWith(cli, market, typedCode === null ? await codesFor(cli, content) : [typedCode]),
    }),
  );
}

/** Returns null if the file is lost and a person can type a code. */
async function fileIfAny(cli: Cli): Promise<string | null> {
  try {
    return await findFile(cli);
  } catch (error) {
    if (!(error instanceof CliError) || error.parts.reason !== 'no_identity') throw error;
    if (cli.terminal.canAsk) return null;
    throw wrongUse(
      error.parts.title,
      own`Name its file with --file, or pass a recovery code with --code-stdin.`,
      'no_identity',
    );
  }
}

async function codesFor(cli: Cli, content: Identity | null): Promise<string[]> {
  const codes = content === null ? [] : usableCodes(content, cli.now());
  if (codes.length > 0) return codes;
  if (cli.terminal.canAsk) return [await readCode(cli)];
  throw wrongUse(own`The file has no recovery code`, own`Pass one with --code-stdin.`);
}

async function beginWith(cli: Cli, market: string, [code = '', ...others]: readonly string[]): Promise<StartedChange> {
  try {
    const body = { action: 'begin', recovery_code: code } as const;
    const { body: staged } = await connectTo(cli, market)().recovery({ body });
    if (staged.status !== 'staged') throw new UnreadableAnswer('unexpected', own`the answer doesn’t fit a recovery`);
    // The current key is unknown. It doesn't matter, because the confirmation invalidates it.
    return { pending: pendingOf('recovery', staged), handle: staged.handle, currentKey: null };
  } catch (error) {
    const refused = error instanceof MarketError && error.reason === 'recovery_code_refused';
    if (refused && others.length > 0) return beginWith(cli, market, others);
    throw error;
  }
}

function reportRecovered({ path, content }: Finished): CommandOutput {
  const { handle, merchant_id, market, recovery_codes } = content;
  return {
    lines: [
      `${handle} has a new key and ${recovery_codes.length} new recovery codes, in ${path}.`,
      'Older keys and codes no longer work. Keep a copy of the codes somewhere else.',
    ],
    json: { market, handle, merchant_id, file: path },
    secrets: secretsOf(content),
  };
}

export const recover: Command = {
  name: 'recover',
  summary:
    'makes a new key and eight new codes with one recovery code (from the file, from input or typed); older ones end',
  positionals: [],
  options: ['handle', 'file', 'out', 'resume', 'code-stdin', 'reveal'],
  examples: ['openaisle recover', 'openaisle recover --code-stdin < code.txt'],
  run: recoverStore,
};
