import type { Cli } from './cli.ts';
import { toCliError, wrongUse } from './cli-error.ts';
import { findFile, marketOf, neededMarket, noIdentity } from './find-file.ts';
import { resumeCommand } from './finish-stage.ts';
import { type Identity, readIdentity, SECRET_TEXT } from './identity.ts';

export interface Account {
  market: string;
  key: string;
  /** Null: the key was handed in. */
  path: string | null;
  content: Identity | null;
}

/** The key of a merchant, from the standard input or from its file, which stays as it is. */
export async function openAccount(cli: Cli): Promise<Account> {
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
export function refusalOf(error: unknown, { path, content }: Pick<Account, 'path' | 'content'>) {
  const pending = content?.pending ?? null;
  const reason = error instanceof Error && 'reason' in error ? error.reason : null;
  if (path === null || reason !== 'key_invalid') return toCliError(error);
  const nextStep =
    pending === null
      ? 'If it was replaced from elsewhere, use the newer file, or openaisle recover with one of the recovery codes.'
      : `The file holds a newer key whose confirm is not known: ${resumeCommand(pending, path)}`;
  return toCliError(error, { nextStep, file: path });
}

export function readKey(cli: Cli): Promise<string> {
  return readOne(cli, 'Merchant key');
}

export function readCode(cli: Cli): Promise<string> {
  return readOne(cli, 'Recovery code');
}

async function readOne({ terminal }: Cli, what: string): Promise<string> {
  const text = await terminal.readSecret(what);
  if (!SECRET_TEXT.test(text)) throw wrongUse(`That is no ${what.toLowerCase()}`);
  return text;
}
