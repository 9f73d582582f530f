import type { EventTail } from '../event-tail.ts';

/** What has to be known of a tail to keep it up to date. */
export type FollowedTail = Pick<EventTail, 'read'>;

/** The same tail, that tells whenever something was taken in. It may do so in the middle of a transaction. */
export function followTail(tail: EventTail, tell: () => void): FollowedTail {
  return {
    read: async (queryable) => {
      const apply = await tail.read(queryable);
      return (
        apply &&
        (() => {
          apply();
          tell();
        })
      );
    },
  };
}
