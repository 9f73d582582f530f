import { dirname, join, resolve } from 'node:path';
import { lockFile } from '../../agent/lock-file.ts';
import { makeFolderOf, mustBeWritable, readPrivate, removeEmpty, writePrivate } from '../../agent/private-file.ts';
import { ofOwner, own } from '../../contract/own-words.ts';
import { type Cli, type Command, connectTo, type Done, findOwner } from '../cli.ts';
import { toCliError, wrongUse } from '../cli-error.ts';
import { type Account, defaultFile, openAccount, refusalOf } from '../open-account.ts';
import { OF_A_MERCHANT } from '../options.ts';

const KIND = 'openaisle pairing code';

/** A code that a human types on the hosted connector's page (W10). It goes into a file, since it is a key for ten minutes. */
async function makePairingCode(cli: Cli): Promise<Done> {
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
      throw wrongUse(own`${ofOwner(path)} holds something else`, own`Name another file with --out.`, 'file_exists');
    await mustBeWritable(path);
    const { body } = await connectTo(
      cli,
      market,
    )(key)
      .pair({ body: {} })
      .catch((error: unknown) => {
        throw refusalOf(error, account);
      });
    const { pairing_code, expires_at } = body;
    const content = { kind: KIND, market, handle, pairing_code, expires_at };
    await writePrivate(path, `${JSON.stringify(content, null, 2)}\n`, before === null ? 'new' : 'replace');
    return {
      lines: [
        `A pairing code for ${handle} is in ${path}, readable by you alone. It works once, until ${expires_at}.`,
        'Type it on the hosted connector’s page and nowhere else.',
      ],
      json: { market, handle, expires_at, file: path },
      secrets: [`pairing code   ${pairing_code}`],
    };
  } finally {
    await lock.release();
    await removeEmpty(made);
  }
}

async function handleOf(cli: Cli, standing: Account): Promise<string> {
  if (standing.content !== null) return standing.content.handle;
  const owner = await findOwner(connectTo(cli, standing.market), standing.key).catch((error: unknown) => {
    throw toCliError(error);
  });
  if (owner === null) throw wrongUse(own`The market does not take this key`, undefined, 'key_invalid');
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
  summary: 'a code to type on the hosted connector’s page: one use, ten minutes',
  positionals: [],
  options: [...OF_A_MERCHANT, 'out', 'reveal'],
  examples: ['openaisle pair', 'openaisle pair --out code.json'],
  run: makePairingCode,
};
