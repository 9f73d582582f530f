import type { Cli } from './cli.ts';
import { wrongUse } from './cli-error.ts';
import { SECRET_TEXT } from './files/identity.ts';

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
