import type { EventTail } from '../event-tail.ts';

/** What has to be known of a tail to keep it up to date. */
export type FollowedTail = Pick<EventTail, 'read' | 'glance'>;

/** The same tail, that tells whenever something was taken in. It may do so in the middle of a transaction. */
export function followTail(tail: EventTail, tell: () => void): FollowedTail {
  const telling = (apply: () => void) => () => {
    apply();
    tell();
  };
  return {
    read: async (tx) => {
      const apply = await tail.read(tx);
      return apply && telling(apply);
    },
    glance: async (queryable) => {
      const apply = await tail.glance(queryable);
      return typeof apply === 'function' ? telling(apply) : apply;
    },
  };
}
