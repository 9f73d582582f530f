import { dirname, join, resolve } from 'node:path';
import { lockFile } from '../../agent/lock-file.ts';
import { makeFolderOf, mustBeWritable, readPrivate, removeEmpty, writePrivate } from '../../agent/private-file.ts';
import { ofOwner, own } from '../../contract/own-words.ts';
import { type Cli, type Command, type CommandOutput, connectTo, findOwner } from '../cli.ts';
import { wrongUse } from '../cli-error.ts';
import { type Account, defaultFile, openAccount, refusalOf } from '../open-account.ts';
import { MERCHANT_OPTIONS } from '../options.ts';

const KIND = 'openaisle pairing code';

/** Makes the code that a human types on the hosted connector's page. Saves it to a file, because for ten minutes it is as good as a key. */
async function makePairingCode(cli: Cli): Promise<CommandOutput> {
  const account = await openAccount(cli);
  const { market, key } = account;
  const handle = await handleOf(cli, account);
  const { out } = cli.options;
  const path = out === undefined ? pairingFile(defaultFile(cli, market, handle), handle) : resolve(out);
  const made = await makeFolderOf(path);
  const lock = await lockFile(path);
  try {
    const before = await readPrivate(path);
    if (before !== null && !isPairingFile(before))
      throw wrongUse(own`${ofOwner(path)} isn’t a pairing file`, own`Name another file with --out.`, 'file_exists');
    await mustBeWritable(path);
    const request = cli.connect(market, key).pair({ body: {} });
    const { body } = await request.catch((error: unknown) => {
      throw refusalOf(error, account);
    });
    const { pairing_code, expires_at } = body;
    const content = { kind: KIND, market, handle, pairing_code, expires_at };
    await writePrivate(path, `${JSON.stringify(content, null, 2)}\n`, before === null ? 'new' : 'replace');
    return {
      lines: [
        `A pairing code for ${handle} is in ${path}, which only you can read. It works once, until ${expires_at}.`,
        'Type it only on the hosted connector’s page.',
      ],
      json: { market, handle, expires_at, file: path },
      secrets: [`pairing code   ${pairing_code}`],
    };
  } finally {
    await lock.release();
    await removeEmpty(made);
  }
}

async function handleOf(cli: Cli, { content, market, key }: Account): Promise<string> {
  if (content !== null) return content.handle;
  const owner = await findOwner(connectTo(cli, market), key);
  if (owner === null) throw wrongUse(own`The market doesn’t accept this key`, undefined, 'key_invalid');
  return owner.handle;
}

function pairingFile(identity: string, handle: string): string {
  return join(dirname(identity), `${handle}.pairing.json`);
}

function isPairingFile(text: string): boolean {
  try {
    const read: unknown = JSON.parse(text);
    return read !== null && typeof read === 'object' && 'kind' in read && read.kind === KIND;
  } catch {
    return false;
  }
}

export const pair: Command = {
  name: 'pair',
  summary: 'makes a one-time code for the hosted connector’s page, valid for ten minutes',
  positionals: [],
  options: [...MERCHANT_OPTIONS, 'out', 'reveal'],
  examples: ['openaisle pair', 'openaisle pair --out code.json'],
  run: makePairingCode,
};
