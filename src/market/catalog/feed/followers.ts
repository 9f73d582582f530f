import type { Queryable, Tx } from '../../../platform/database/database.ts';

/** Something else that is kept in memory and has to be of the same moment as the model. */
export interface Follower {
  /** Reads what is new; the function that comes back takes it in, at once and without fail. Null: nothing is new. */
  read(tx: Tx): Promise<(() => void) | null>;
  /** The same by statements that are handed in at once, before this returns. 'much': then only `read` will do. */
  glance(queryable: Queryable): Promise<(() => void) | 'much' | null>;
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

/** Null where it is much for one of them. */
export async function glanceAtFollowers(
  queryable: Queryable,
  followers: readonly Follower[],
): Promise<(() => void)[] | null> {
  const applies = await Promise.all(followers.map((follower) => follower.glance(queryable)));
  return applies.includes('much') ? null : applies.filter((apply) => typeof apply === 'function');
}
