import type { Queryable } from '../database/database.ts';
import { CommandRefused } from '../run-command.ts';
import { type CopiedEvent, follows } from './copied-event.ts';
import { findLastAlike } from './store.ts';

const COMPARED_AT_ONCE = 10_000;

/** The last event that copies and log have alike: from there on they part. `newest`: the log's own last. Refuses copies that do not tell. */
export async function findKept(queryable: Queryable, copied: readonly CopiedEvent[], newest: bigint): Promise<bigint> {
  const [first] = copied;
  if (first === undefined)
    throw new CommandRefused('the copies hold no event: name other files, or --without-log-copy');
  for (const [at, event] of copied.entries()) {
    if (!follows(copied[at - 1] ?? null, event)) {
      throw new CommandRefused(`the copies are damaged: event ${event.id} does not follow from the one before it`);
    }
  }
  // From the end: what an earlier recovery left out is in the copies too, and not in the log.
  for (let end = copied.length; end > 0; end -= COMPARED_AT_ONCE) {
    const alike = await findLastAlike(queryable, copied.slice(Math.max(0, end - COMPARED_AT_ONCE), end));
    if (alike !== null) return alike;
  }
  if (first.id === newest + 1n) return newest;
  throw new CommandRefused(
    `the log ends with event ${newest}, and the copies begin with event ${first.id}: name older files too, or --without-log-copy`,
  );
}
