import type { Cli } from './cli.ts';
import { toCliError } from './cli-error.ts';
import { findFile, marketOf, neededMarket, noIdentity } from './files/find-file.ts';
import { readIdentity } from './files/hold-identity.ts';
import type { Identity } from './files/identity.ts';
import { readKey } from './read-key.ts';
import { resumeCommand } from './stages/resume-command.ts';

export interface Standing {
  market: string;
  key: string;
  /** Null: the key was handed in. */
  path: string | null;
  content: Identity | null;
}

/** The key of a merchant, from the standard input or from its file, which stays as it is. */
export async function openStanding(cli: Cli): Promise<Standing> {
  if (cli.options['key-stdin'] === true)
    return { market: neededMarket(cli), key: await readKey(cli), path: null, content: null };
  const path = cli.options.out === undefined ? await findFile(cli) : await findFile(withoutOut(cli));
  const content = await readIdentity(path);
  if (content === null) throw noIdentity(`There is no file ${path}`, 'openaisle join makes one; --file names another.');
  const { merchant_key: key, pending } = content;
  if (key === null) {
    const nextStep = pending === null ? 'openaisle join makes one.' : resumeCommand(pending, path);
    throw noIdentity(`No key in ${path} is known to be in force`, nextStep);
  }
  return { market: marketOf(cli, content, path), key, path, content };
}

/** Where a command's --out is not the merchant's file. */
function withoutOut(cli: Cli): Cli {
  const { out: _, ...options } = cli.options;
  return { ...cli, options };
}

/** A refusal of a file's key, with what the file itself may have to say about it. */
export function refusalOf(error: unknown, { path, content }: Pick<Standing, 'path' | 'content'>) {
  const pending = content?.pending ?? null;
  const reason = error instanceof Error && 'reason' in error ? error.reason : null;
  if (path === null || reason !== 'key_invalid') return toCliError(error);
  const nextStep =
    pending === null
      ? 'If it was replaced from elsewhere, use the newer file, or openaisle recover with one of the recovery codes.'
      : `The file holds a newer key whose confirm is not known: ${resumeCommand(pending, path)}`;
  return toCliError(error, { nextStep, file: path });
}
