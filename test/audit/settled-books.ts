import { createHash } from 'node:crypto';
import type { SettledBooks } from './keep-state.ts';
import type { PaymentLine, ThingLine } from './read-books.ts';

type Line = PaymentLine | ThingLine;

/** What ended for good, and stays as it is. One that ended unpaid is looked at each time: its money may have come after all. */
const isSettled = (line: Line): boolean =>
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
    open: payments.filter((line) => !isSettled(line)).map(({ id }) => id),
    digest: digestOf([...payments.filter(isSettled), ...things]),
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
