import type { Queryable, Tx } from '../../../platform/database/database.ts';
import type { MarkQuery } from './store.ts';

/** Something else that is kept in memory and has to be of the same moment as the model. */
export interface Follower {
  /** Reads what is new; the function that comes back takes it in, at once and without fail. Null: nothing is new. */
  read(tx: Tx): Promise<(() => void) | null>;
  /** A scalar query for an int8 that rises with whatever there is to read, and says exactly how far it goes. */
  mark: MarkQuery;
  /** The same as `read` in a snapshot with that mark, though it is read later; 'much': then only a snapshot will do. */
  readTo(queryable: Queryable, mark: bigint): Promise<(() => void) | 'much' | null>;
}

/** One at a time: they share a connection. */
export async function readFollowers(tx: Tx, followers: readonly Follower[]): Promise<(() => void)[]> {
  const applies: (() => void)[] = [];
  for (const follower of followers) {
    const apply = await follower.read(tx);
    if (apply !== null) applies.push(apply);
  }
  return applies;
}

/** What came up to these marks; null when that is much for one of them. */
export async function readFollowersTo(
  queryable: Queryable,
  followers: readonly Follower[],
  marks: readonly bigint[],
): Promise<(() => void)[] | null> {
  const applies: (() => void)[] = [];
  for (const [at, follower] of followers.entries()) {
    const apply = await follower.readTo(queryable, marks[at] ?? 0n);
    if (apply === 'much') return null;
    if (apply !== null) applies.push(apply);
  }
  return applies;
}
