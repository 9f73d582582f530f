import { access, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseTransaction } from 'viem';
import { z } from 'zod';
import type { Hex } from '../../platform/hex.ts';
import type { Log } from '../../platform/log.ts';
import type { Ending, Entry } from './entry.ts';
import { hex, parseJson } from './records.ts';

/** The folder with one file per authorization that earlier versions wrote. Its files are imported once, and the folder is renamed. */
export interface EarlierFolder {
  entries: Entry[];
  /** Keys of files that cannot be read, taken from the file names. */
  damagedKeys: string[];
  /** Call when the entries are on disk in their new form. */
  putAside(): Promise<void>;
}

const SUFFIX = '.json';
const UNFINISHED = '.unfinished';

const decimal = z
  .string()
  .regex(/^\d{1,39}$/)
  .transform(BigInt);
const file = z.strictObject({
  payer: hex(20),
  payee: hex(20),
  value_units: decimal,
  valid_after: decimal,
  valid_before: decimal,
  authorization_nonce: hex(32),
  transaction_hash: hex(32),
  account_nonce: z.int().nonnegative(),
  sender: hex(20),
  chain_id: decimal,
  signed_at: z.iso.datetime(),
  state: z.enum(['open', 'succeeded', 'reverted', 'replaced', 'expired']),
  raw_transaction: hex(),
});

export async function readEarlierFolder(folder: string, chainId: bigint, log: Log): Promise<EarlierFolder | null> {
  const exists = await access(folder).then(
    () => true,
    () => false,
  );
  if (!exists) return null;
  const entries: Entry[] = [];
  const damagedKeys: string[] = [];
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (name.endsWith(UNFINISHED)) await rm(path, { force: true });
    if (!name.endsWith(SUFFIX)) continue;
    const entry = readEntry(await readFile(path, 'utf8'), chainId);
    if (entry !== null) entries.push(entry);
    else {
      log.error('journal_file_unreadable', { path });
      damagedKeys.push(name.slice(0, -SUFFIX.length));
    }
  }
  return { entries, damagedKeys, putAside: () => putAside(folder) };
}

function readEntry(text: string, chainId: bigint): Entry | null {
  const read = file.safeParse(parseJson(text));
  if (!read.success) return null;
  const fields = read.data;
  if (fields.chain_id !== chainId) throw wrongChain(fields.chain_id, chainId);
  const signedAt = Date.parse(fields.signed_at);
  const prices = pricesOf(fields.raw_transaction);
  if (prices === null) return null;
  return {
    authorization: {
      from: fields.payer,
      to: fields.payee,
      value: fields.value_units,
      validAfter: fields.valid_after,
      validBefore: fields.valid_before,
      nonce: fields.authorization_nonce,
    },
    sender: fields.sender,
    accountNonce: fields.account_nonce,
    hasCode: null,
    pool: 'plain',
    reservedUnits: 0n,
    estimatedGas: 0n,
    transactions: [
      {
        hash: fields.transaction_hash,
        raw: fields.raw_transaction,
        accountNonce: fields.account_nonce,
        signedAt,
        ...prices,
        fills: false,
      },
    ],
    ending: endingOf(fields.state, fields.transaction_hash, signedAt),
    isFinal: false,
  };
}

export function wrongChain(actual: bigint, wanted: bigint): Error {
  return new Error(`FACILITATOR_DATA_DIR holds settlements of chain ${actual}; use another folder for ${wanted}`);
}

function pricesOf(raw: Hex) {
  try {
    const { gas, maxFeePerGas, maxPriorityFeePerGas } = parseTransaction(raw);
    return { gas: gas ?? 0n, maxFeePerGas: maxFeePerGas ?? 0n, maxPriorityFeePerGas: maxPriorityFeePerGas ?? 0n };
  } catch {
    return null;
  }
}

/** The files of earlier versions did not record the gas cost. */
function endingOf(state: z.output<typeof file>['state'], hash: Hex, at: number): Ending | null {
  if (state === 'open') return null;
  const noCost = { at, blockNumber: null, gasUsed: 0n, costWei: 0n, lossUnits: 0n, cause: null };
  if (state === 'succeeded' || state === 'reverted') return { ...noCost, state, hash };
  return { ...noCost, state: 'replaced', hash: null };
}

async function putAside(folder: string): Promise<void> {
  const aside = `${folder}.earlier`;
  await rm(aside, { recursive: true, force: true });
  await rename(folder, aside);
}
