import { z } from 'zod';
import { isoTime } from '../../platform/clock.ts';
import { type Hex, isHex } from '../../platform/hex.ts';
import { type Cooldown, ENDS, type Ending, type Entry, type Loss, POOLS, type SignedTransaction } from './entry.ts';

export type JournalRecord =
  | { type: 'chain'; chainId: bigint }
  | { type: 'entry'; entry: Entry }
  /** `accountNonce` is the newest nonce of the entry before this line. */
  | { type: 'transaction'; transaction: SignedTransaction; accountNonce: number }
  | { type: 'ended'; ending: Ending }
  | { type: 'reopened' }
  | { type: 'blocked' }
  | { type: 'loss'; loss: Loss }
  | { type: 'rest'; rest: Cooldown }
  | { type: 'known'; address: Hex };

export const hex = (bytes?: number) => z.custom<Hex>((value) => isHex(value, bytes));
const decimal = z
  .string()
  .regex(/^\d{1,78}$/)
  .transform(BigInt);
const time = z.iso.datetime().transform((text) => Date.parse(text));

const transaction = z.strictObject({
  /** Omitted if it is the entry's newest nonce, so that an earlier version can read the line. */
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
  /** `sale` is omitted if false, as in earlier versions. */
  z.strictObject({
    ...{ type: z.literal('loss'), at: time, pool: z.enum(POOLS), units: decimal },
    sale: z.literal(true).optional(),
  }),
  z.strictObject({ type: z.literal('rest'), payer: hex(20), until: time, strikes: z.int().positive() }),
  z.strictObject({ type: z.literal('known'), address: hex(20) }),
]);
type Written = z.input<typeof record>;
type Read = z.output<typeof record>;

export function printRecord(fields: JournalRecord): string {
  return JSON.stringify(toWritten(fields));
}

/** Null if the text is not a known record. `accountNonce` is the entry's newest account nonce before this line, 0 if there is no entry. */
export function parseRecord(text: string, accountNonce: number): JournalRecord | null {
  const read = record.safeParse(parseJson(text));
  return read.success ? asRecord(read.data, accountNonce) : null;
}

function toWritten(fields: JournalRecord): Written {
  switch (fields.type) {
    case 'chain':
      return { type: 'chain', chain_id: fields.chainId.toString() };
    case 'entry':
      return { type: 'entry', entry: printEntry(fields.entry) };
    case 'transaction':
      return { type: 'transaction', transaction: printTransaction(fields.transaction, fields.accountNonce) };
    case 'ended':
      return { type: 'ended', ending: printEnding(fields.ending) };
    case 'loss': {
      const { at, pool, units, isSale } = fields.loss;
      return { type: 'loss', at: isoTime(at), pool, units: units.toString(), ...(isSale ? { sale: true } : {}) };
    }
    case 'rest':
      return { type: 'rest', ...fields.rest, until: isoTime(fields.rest.until) };
    case 'known':
      return { type: 'known', address: fields.address };
    default:
      return { type: fields.type };
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

function printTransaction(fields: SignedTransaction, newestNonce: number): z.input<typeof transaction> {
  return {
    ...(fields.accountNonce === newestNonce ? {} : { account_nonce: fields.accountNonce }),
    hash: fields.hash,
    raw: fields.raw,
    signed_at: isoTime(fields.signedAt),
    gas: fields.gas.toString(),
    max_fee: fields.maxFeePerGas.toString(),
    max_tip: fields.maxPriorityFeePerGas.toString(),
    fills: fields.fills,
  };
}

function readTransaction(read: z.output<typeof transaction>, newestNonce: number): SignedTransaction {
  const { signed_at: signedAt, max_fee: maxFeePerGas, max_tip: maxPriorityFeePerGas, ...others } = read;
  const { account_nonce: accountNonce = newestNonce, ...rest } = others;
  return { ...rest, accountNonce, signedAt, maxFeePerGas, maxPriorityFeePerGas };
}

function printEnding(fields: Ending): z.input<typeof ending> {
  return {
    state: fields.state,
    at: isoTime(fields.at),
    hash: fields.hash,
    block_number: fields.blockNumber?.toString() ?? null,
    gas_used: fields.gasUsed.toString(),
    cost_wei: fields.costWei.toString(),
    loss_units: fields.lossUnits.toString(),
    cause: fields.cause,
  };
}

function readEnding(read: z.output<typeof ending>): Ending {
  const { block_number: blockNumber, gas_used: gasUsed, cost_wei: costWei, loss_units: lossUnits, ...rest } = read;
  return { ...rest, blockNumber, gasUsed, costWei, lossUnits };
}

function printEntry(fields: Entry): z.input<typeof entry> {
  const { authorization } = fields;
  return {
    payer: authorization.from,
    payee: authorization.to,
    value_units: authorization.value.toString(),
    valid_after: authorization.validAfter.toString(),
    valid_before: authorization.validBefore.toString(),
    authorization_nonce: authorization.nonce,
    sender: fields.sender,
    account_nonce: fields.accountNonce,
    has_code: fields.hasCode,
    pool: fields.pool,
    reserved_units: fields.reservedUnits.toString(),
    estimated_gas: fields.estimatedGas.toString(),
    transactions: fields.transactions.map((one) => printTransaction(one, fields.accountNonce)),
    ending: fields.ending && printEnding(fields.ending),
    final: fields.isFinal,
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

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
