import { createHash } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Incoming } from './incoming.ts';
import type { Promised } from './promises.ts';
import type { PaymentLine, ThingLine } from './read-books.ts';
import type { Chain } from './read-chain.ts';

/** Progress of an audit, from which the next one can continue. Ids and amounts are text, hashes are hex. */
export interface State {
  version: 1;
  /** `books` is the operator's audit, `market` the public one. */
  of: 'books' | 'market';
  /** URL of the market. Null for the operator's audit. */
  market: string | null;
  chain_id: string;
  token: string;
  /** Finalized block up to which transfers were checked. */
  block: { number: number; hash: string };
  /** Last event with its own hash and the running hash. Null if the log was empty. */
  event: { id: string; hash: string; running_hash: string } | null;
  /** Transfers to the treasury that are not in the books. They are reported until they are booked. */
  unbooked: Incoming['unbooked'];
  books: SettledBooks | null;
  public: PublicBooks | null;
}

/** Payments that had ended for good and were checked against the chain. Unchanged ones are not checked again. */
interface SettledBooks {
  payments_through: string;
  things_through: string;
  /** Ids of payments up to `payments_through` that had not ended. */
  open: string[];
  digest: string;
}

export interface PublicBooks {
  fee_id: number;
  fees_units: string;
  /** Booked transfers whose block is after the remembered one. */
  ahead: string[];
  /** First event from which listings promise more than a price. Null if none did. Absent in states of older programs. */
  promises_from?: number | null;
  /** Promises in the log by listing id, including later changes. Absent in states of older programs. */
  listings?: [number, Promised][];
  /** Handle that the market named as its maintainer's. Null if it named none. Absent in states of older programs. */
  maintainer?: string | null;
}

/** The audit cannot continue from this state. */
export class StateRefused extends Error {
  override readonly name = 'StateRefused';
}

/** Returns null if the file does not exist. Throws if its folder does not exist. */
export function readState(path: string, expected: Pick<State, 'of' | 'market'>): State | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT' && existsSync(dirname(path))) return null;
    throw new StateRefused(`${path} cannot be read: ${String(error)}`);
  }
  const state = parse(text);
  if (state === null) throw new StateRefused(`${path} is not a state of this audit; name another file, or delete it`);
  if (state.of !== expected.of)
    throw new StateRefused(`${path} was made by the audit of ${state.of === 'books' ? 'a database' : 'a market'}`);
  if (state.market !== expected.market) throw new StateRefused(`${path} is of the market ${state.market}`);
  return state;
}

export async function faultsOfState(state: State, chain: Chain, token: string): Promise<string[]> {
  const { number, hash } = state.block;
  if (state.chain_id !== chain.id.toString())
    throw new StateRefused(`the state is of chain ${state.chain_id}, and the endpoint is of chain ${chain.id}`);
  if (state.token !== token) throw new StateRefused(`the state is of the token ${state.token}, and not of ${token}`);
  if (chain.final.number < number)
    throw new StateRefused(`the endpoint calls block ${chain.final.number} final, and the state has seen ${number}`);
  if ((await chain.block(number))?.hash === hash) return [];
  return [`block ${number} is not ${hash}, which the state remembers as final`];
}

function parse(text: string): State | null {
  try {
    const state = JSON.parse(text) as State;
    const whole =
      state.version === 1 &&
      (state.of === 'books' || state.of === 'market') &&
      typeof state.chain_id === 'string' &&
      typeof state.token === 'string' &&
      Number.isSafeInteger(state.block.number) &&
      typeof state.block.hash === 'string' &&
      (state.event === null || [state.event.id, state.event.hash, state.event.running_hash].every(isText)) &&
      state.unbooked.every((one) => isText(one.tx_hash) && isText(one.units)) &&
      (state.of === 'books' ? isSettled(state.books) : isPublic(state.public));
    return whole ? state : null;
  } catch {
    return null;
  }
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isSettled = (books: SettledBooks | null): boolean =>
  books !== null &&
  [books.payments_through, books.things_through, books.digest].every(isText) &&
  books.open.every(isText);
const isPublic = (books: PublicBooks | null): boolean =>
  books !== null &&
  Number.isSafeInteger(books.fee_id) &&
  isText(books.fees_units) &&
  books.ahead.every(isText) &&
  (books.listings === undefined || books.listings.every(([id, one]) => Number.isSafeInteger(id) && isText(one.units)));

/** Writes atomically: writes a temporary file, syncs it and renames it. */
export function writeState(path: string, state: State): void {
  const temporary = join(dirname(path), `.${basename(path)}.${process.pid}`);
  const file = openSync(temporary, 'w', 0o600);
  try {
    writeSync(file, `${JSON.stringify(state)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
  const folder = openSync(dirname(path), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

type Line = PaymentLine | ThingLine;

/** Whether a payment has ended for good. One that ended unpaid is checked every time, because its money may still arrive. */
const isOver = (line: Line): boolean =>
  !('status' in line) || line.status === 'completed' || line.status === 'rejected';

/** Ignores `removed_at`, because a later removal of the goods does not change the payment. */
const textOf = (line: Line): string => JSON.stringify({ ...line, removed_at: null });

function digestOf(lines: readonly Line[]): string {
  const hash = createHash('sha256');
  for (const line of lines) hash.update(`${textOf(line)}\n`);
  return hash.digest('hex');
}

export function settle(payments: readonly PaymentLine[], things: readonly ThingLine[]): SettledBooks {
  return {
    payments_through: payments.at(-1)?.id ?? '0',
    things_through: things.at(-1)?.id ?? '0',
    open: payments.filter((line) => !isOver(line)).map(({ id }) => id),
    digest: digestOf([...payments.filter(isOver), ...things]),
  };
}

/** Returns the lines to check against the chain: new ones and those that had not ended. Returns all lines if any ended one has changed. */
export function unsettled(
  books: { payments: readonly PaymentLine[]; things: readonly ThingLine[] },
  before: SettledBooks | null,
): { payments: PaymentLine[]; things: ThingLine[] } {
  const all = { payments: [...books.payments], things: [...books.things] };
  if (before === null) return all;
  const open = new Set(before.open);
  const isOld = ({ id }: Line): boolean => BigInt(id) <= BigInt(before.payments_through) && !open.has(id);
  const isOldThing = ({ id }: Line): boolean => BigInt(id) <= BigInt(before.things_through);
  if (digestOf([...books.payments.filter(isOld), ...books.things.filter(isOldThing)]) !== before.digest) return all;
  return {
    payments: books.payments.filter((line) => !isOld(line)),
    things: books.things.filter((line) => !isOldThing(line)),
  };
}
