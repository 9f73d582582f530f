import type { EventTail } from '../event-tail.ts';

/** What has to be known of a tail to keep it up to date. */
export type FollowedTail = Pick<EventTail, 'read' | 'mark' | 'readTo'>;

/** The same tail, that tells whenever something was taken in. It may do so in the middle of a transaction. */
export function followTail(tail: EventTail, tell: () => void): FollowedTail {
  const telling = (apply: () => void) => () => {
    apply();
    tell();
  };
  return {
    mark: tail.mark,
    read: async (tx) => {
      const apply = await tail.read(tx);
      return apply && telling(apply);
    },
    readTo: async (queryable, mark) => {
      const apply = await tail.readTo(queryable, mark);
      return typeof apply === 'function' ? telling(apply) : apply;
    },
  };
}
