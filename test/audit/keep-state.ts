import { createHash } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Incoming } from './incoming.ts';
import type { Promised } from './promises.ts';
import type { PaymentLine, ThingLine } from './read-books.ts';
import type { Chain } from './read-chain.ts';

/** How far an audit came: the next one goes on from there. Ids and amounts are text, hashes hex. */
export interface State {
  version: 1;
  /** Made by the operator's audit, or by the one that anybody can run. */
  of: 'books' | 'market';
  /** The market's address; the operator's audit has none. */
  market: string | null;
  chain_id: string;
  token: string;
  /** The finalized block up to which transfers were looked at. */
  block: { number: number; hash: string };
  /** The last event, its own hash and the running hash up to it; null: the log was empty. */
  event: { id: string; hash: string; running_hash: string } | null;
  /** Transfers to the treasury that were in no book: they are named until they are in one. */
  unbooked: Incoming['unbooked'];
  books: SettledBooks | null;
  public: PublicBooks | null;
}

/** Payments that had ended for good and were held against the chain: as long as they are the same they need not be again. */
interface SettledBooks {
  payments_through: string;
  things_through: string;
  /** Payments up to there that had not. */
  open: string[];
  digest: string;
}

export interface PublicBooks {
  fee_id: number;
  fees_units: string;
  /** Transfers that were booked though their block lies behind the one that is remembered. */
  ahead: string[];
  /** From which event on listings promise more than a price; null: none did. A state of an earlier program does not say. */
  promises_from?: number | null;
  /** Promises of the log for each listing, with what it told since, by the id. A state of an earlier program has none. */
  listings?: [number, Promised][];
  /** The handle that the market named as its maintainer's; null: it named none. A state of an earlier program does not say. */
  maintainer?: string | null;
}

/** The state cannot be gone on from. */
export class StateRefused extends Error {
  override readonly name = 'StateRefused';
}

/** Null where there is no such file yet, and a folder for it. */
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

/** To be called once the chain is known. What it says against the state in words. */
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

/** The whole file or the one before: written to a temporary file, synced, and renamed. */
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

/** What ended for good, and stays as it is. One that ended unpaid is looked at each time: its money may have come after all. */
const isOver = (line: Line): boolean =>
  !('status' in line) || line.status === 'completed' || line.status === 'rejected';

/** A removal of the goods afterwards changes nothing about what was paid. */
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

/**
 * The lines that have to be held against the chain: those that are new since, and those that had not ended. All of them where what had
 * ended is not as it was, for whatever reason.
 */
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
