import { z } from 'zod';
import { isoTime } from '../../platform/clock.ts';
import { type Hex, isHex } from '../../platform/hex.ts';
import { type Cooldown, ENDS, type Ending, type Entry, type Loss, POOLS, type SignedTransaction } from './entry.ts';

/** What a line of the journal says. */
export type JournalRecord =
  | { type: 'chain'; chainId: bigint }
  | { type: 'entry'; entry: Entry }
  /** `accountNonce`: the newest place of its entry before this line. */
  | { type: 'transaction'; transaction: SignedTransaction; accountNonce: number }
  | { type: 'ended'; ending: Ending }
  | { type: 'reopened' }
  | { type: 'blocked' }
  | { type: 'loss'; loss: Loss }
  | { type: 'rest'; rest: Cooldown }
  | { type: 'known'; address: Hex };

const hex = (bytes?: number) => z.custom<Hex>((value) => isHex(value, bytes));
const decimal = z
  .string()
  .regex(/^\d{1,78}$/)
  .transform(BigInt);
const time = z.iso.datetime().transform((text) => Date.parse(text));

const transaction = z.strictObject({
  /** Left out where it is the newest place of the entry: an earlier version reads all that it would understand. */
  account_nonce: z.int().nonnegative().optional(),
  hash: hex(32),
  raw: hex(),
  signed_at: time,
  gas: decimal,
  max_fee: decimal,
  max_tip: decimal,
  fills: z.boolean(),
});
const ending = z.strictObject({
  state: z.enum(ENDS),
  at: time,
  hash: hex(32).nullable(),
  block_number: decimal.nullable(),
  gas_used: decimal,
  cost_wei: decimal,
  loss_units: decimal,
  cause: z.string().max(40).nullable(),
});
const entry = z.strictObject({
  payer: hex(20),
  payee: hex(20),
  value_units: decimal,
  valid_after: decimal,
  valid_before: decimal,
  authorization_nonce: hex(32),
  sender: hex(20),
  account_nonce: z.int().nonnegative(),
  has_code: z.boolean().nullable(),
  pool: z.enum(POOLS),
  reserved_units: decimal,
  estimated_gas: decimal,
  transactions: z.array(transaction).min(1),
  ending: ending.nullable(),
  final: z.boolean(),
});
const record = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('chain'), chain_id: decimal }),
  z.strictObject({ type: z.literal('entry'), entry }),
  z.strictObject({ type: z.literal('transaction'), transaction }),
  z.strictObject({ type: z.literal('ended'), ending }),
  z.strictObject({ type: z.literal('reopened') }),
  z.strictObject({ type: z.literal('blocked') }),
  /** `sale` is left out where it is not one, as earlier versions have it. */
  z.strictObject({
    ...{ type: z.literal('loss'), at: time, pool: z.enum(POOLS), units: decimal },
    sale: z.literal(true).optional(),
  }),
  z.strictObject({ type: z.literal('rest'), payer: hex(20), until: time, strikes: z.int().positive() }),
  z.strictObject({ type: z.literal('known'), address: hex(20) }),
]);
type Written = z.input<typeof record>;
type Read = z.output<typeof record>;

export function printRecord(given: JournalRecord): string {
  return JSON.stringify(written(given));
}

/** Null when the text is not one of ours. `accountNonce` is the newest place of its entry before this line, 0 where there is none. */
export function parseRecord(text: string, accountNonce: number): JournalRecord | null {
  const read = record.safeParse(parseJson(text));
  return read.success ? asRecord(read.data, accountNonce) : null;
}

function written(given: JournalRecord): Written {
  switch (given.type) {
    case 'chain':
      return { type: 'chain', chain_id: given.chainId.toString() };
    case 'entry':
      return { type: 'entry', entry: printEntry(given.entry) };
    case 'transaction':
      return { type: 'transaction', transaction: printTransaction(given.transaction, given.accountNonce) };
    case 'ended':
      return { type: 'ended', ending: printEnding(given.ending) };
    case 'loss': {
      const { at, pool, units, isSale } = given.loss;
      return { type: 'loss', at: isoTime(at), pool, units: units.toString(), ...(isSale ? { sale: true } : {}) };
    }
    case 'rest':
      return { type: 'rest', ...given.rest, until: isoTime(given.rest.until) };
    case 'known':
      return { type: 'known', address: given.address };
    default:
      return { type: given.type };
  }
}

function asRecord(read: Read, accountNonce: number): JournalRecord {
  switch (read.type) {
    case 'chain':
      return { type: 'chain', chainId: read.chain_id };
    case 'entry':
      return { type: 'entry', entry: readEntry(read.entry) };
    case 'transaction':
      return { type: 'transaction', transaction: readTransaction(read.transaction, accountNonce), accountNonce };
    case 'ended':
      return { type: 'ended', ending: readEnding(read.ending) };
    case 'loss':
      return { type: 'loss', loss: { at: read.at, pool: read.pool, units: read.units, isSale: read.sale === true } };
    case 'rest':
      return { type: 'rest', rest: { payer: read.payer, until: read.until, strikes: read.strikes } };
    default:
      return read;
  }
}

function printTransaction(given: SignedTransaction, newestPlace: number): z.input<typeof transaction> {
  return {
    ...(given.accountNonce === newestPlace ? {} : { account_nonce: given.accountNonce }),
    hash: given.hash,
    raw: given.raw,
    signed_at: isoTime(given.signedAt),
    gas: given.gas.toString(),
    max_fee: given.maxFeePerGas.toString(),
    max_tip: given.maxPriorityFeePerGas.toString(),
    fills: given.fills,
  };
}

function readTransaction(read: z.output<typeof transaction>, newestPlace: number): SignedTransaction {
  const { signed_at: signedAt, max_fee: maxFeePerGas, max_tip: maxPriorityFeePerGas, ...others } = read;
  const { account_nonce: accountNonce = newestPlace, ...rest } = others;
  return { ...rest, accountNonce, signedAt, maxFeePerGas, maxPriorityFeePerGas };
}

function printEnding(given: Ending): z.input<typeof ending> {
  return {
    state: given.state,
    at: isoTime(given.at),
    hash: given.hash,
    block_number: given.blockNumber?.toString() ?? null,
    gas_used: given.gasUsed.toString(),
    cost_wei: given.costWei.toString(),
    loss_units: given.lossUnits.toString(),
    cause: given.cause,
  };
}

function readEnding(read: z.output<typeof ending>): Ending {
  const { block_number: blockNumber, gas_used: gasUsed, cost_wei: costWei, loss_units: lossUnits, ...rest } = read;
  return { ...rest, blockNumber, gasUsed, costWei, lossUnits };
}

function printEntry(given: Entry): z.input<typeof entry> {
  const { authorization } = given;
  return {
    payer: authorization.from,
    payee: authorization.to,
    value_units: authorization.value.toString(),
    valid_after: authorization.validAfter.toString(),
    valid_before: authorization.validBefore.toString(),
    authorization_nonce: authorization.nonce,
    sender: given.sender,
    account_nonce: given.accountNonce,
    has_code: given.hasCode,
    pool: given.pool,
    reserved_units: given.reservedUnits.toString(),
    estimated_gas: given.estimatedGas.toString(),
    transactions: given.transactions.map((one) => printTransaction(one, given.accountNonce)),
    ending: given.ending && printEnding(given.ending),
    final: given.isFinal,
  };
}

function readEntry(read: z.output<typeof entry>): Entry {
  return {
    authorization: {
      from: read.payer,
      to: read.payee,
      value: read.value_units,
      validAfter: read.valid_after,
      validBefore: read.valid_before,
      nonce: read.authorization_nonce,
    },
    sender: read.sender,
    accountNonce: read.account_nonce,
    hasCode: read.has_code,
    pool: read.pool,
    reservedUnits: read.reserved_units,
    estimatedGas: read.estimated_gas,
    transactions: read.transactions.map((one) => readTransaction(one, read.account_nonce)),
    ending: read.ending && readEnding(read.ending),
    isFinal: read.final,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
