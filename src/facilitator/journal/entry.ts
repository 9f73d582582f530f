import { z } from 'zod';
import type { Authorization } from '../../platform/chain/authorization.ts';
import { isoTime } from '../../platform/clock.ts';
import { type Hex, isHex } from '../../platform/hex.ts';

/**
 * open: signed and, as far as anybody knows, on its way. succeeded and reverted: seen in a block. replaced: another transaction has
 * taken its place in the account's order, so it can never be mined. expired: never mined, and the authorization is worth nothing now.
 */
export const STATES = ['open', 'succeeded', 'reverted', 'replaced', 'expired'] as const;
export type State = (typeof STATES)[number];

/** One signed settlement transaction. */
export interface Entry {
  authorization: Authorization;
  hash: Hex;
  /** Place of the transaction in the order of its sender. */
  accountNonce: number;
  sender: Hex;
  signedAt: number;
  state: State;
}

export interface StoredEntry extends Entry {
  raw: Hex;
}

const hex = (bytes?: number) => z.custom<Hex>((value) => isHex(value, bytes));
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
  state: z.enum(STATES),
  raw_transaction: hex(),
});

export function entryName(payer: Hex, nonce: Hex): string {
  return `${payer.slice(2)}-${nonce.slice(2)}`;
}

export function printEntry(entry: StoredEntry, chainId: bigint): string {
  const { authorization } = entry;
  const fields: z.input<typeof file> = {
    payer: authorization.from,
    payee: authorization.to,
    value_units: authorization.value.toString(),
    valid_after: authorization.validAfter.toString(),
    valid_before: authorization.validBefore.toString(),
    authorization_nonce: authorization.nonce,
    transaction_hash: entry.hash,
    account_nonce: entry.accountNonce,
    sender: entry.sender,
    chain_id: chainId.toString(),
    signed_at: isoTime(entry.signedAt),
    state: entry.state,
    raw_transaction: entry.raw,
  };
  return `${JSON.stringify(fields, null, 2)}\n`;
}

/** Null when the text is not one of ours. */
export function parseEntry(text: string): (StoredEntry & { chainId: bigint }) | null {
  const read = file.safeParse(parseJson(text));
  if (!read.success) return null;
  const fields = read.data;
  return {
    authorization: {
      from: fields.payer,
      to: fields.payee,
      value: fields.value_units,
      validAfter: fields.valid_after,
      validBefore: fields.valid_before,
      nonce: fields.authorization_nonce,
    },
    hash: fields.transaction_hash,
    accountNonce: fields.account_nonce,
    sender: fields.sender,
    signedAt: Date.parse(fields.signed_at),
    state: fields.state,
    raw: fields.raw_transaction,
    chainId: fields.chain_id,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A payer may sign two authorizations with one nonce: only one of them can be paid. */
export function sameAuthorization(a: Authorization, b: Authorization): boolean {
  return (
    a.from === b.from &&
    a.nonce === b.nonce &&
    a.to === b.to &&
    a.value === b.value &&
    a.validAfter === b.validAfter &&
    a.validBefore === b.validBefore
  );
}
