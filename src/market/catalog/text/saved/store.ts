import sql from 'sql-template-tag';
import type { Queryable } from '../../../../platform/database/database.ts';
import { isTimelineRefused } from '../../../../platform/database/timeline.ts';
import type { Anchor } from './facts.ts';

/** Returns the identifier of the database cluster, or null if the server does not reveal it. Call it outside of a transaction. */
export async function readSystem(queryable: Queryable): Promise<string | null> {
  try {
    const { system } = await queryable.one<{ system: string }>(
      sql`select system_identifier::text as system from pg_control_system()`,
    );
    return system;
  } catch (error) {
    if (isTimelineRefused(error)) return null;
    throw error;
  }
}

/** Returns the number of the newest event in the queue, with or without an id. */
export async function readQueueEnd(queryable: Queryable): Promise<bigint> {
  const { end } = await queryable.one<{ end: bigint }>(sql`select coalesce(max(queue_id), 0)::int8 as end from events`);
  return end;
}

/** Returns the newest event with an id, null if there is none, or 'later' while an event up to `queueEnd` has no id yet. */
export async function readAnchor(queryable: Queryable, queueEnd: bigint): Promise<Anchor | null | 'later'> {
  const { waits, event, hash } = await queryable.one<{ waits: boolean; event: string | null; hash: string | null }>(sql`
    select exists (select from events where id is null and queue_id <= ${queueEnd}) as waits, newest.event, newest.hash
    from (select) one left join lateral (
      select id::text as event, encode(running_hash, 'hex') as hash from events
      where id is not null and running_hash is not null order by id desc limit 1
    ) newest on true`);
  if (waits) return 'later';
  return event === null || hash === null ? null : { event, hash };
}

/** Returns whether the log has this event after the same events before it. */
export async function hasAnchor(queryable: Queryable, { event, hash }: Anchor): Promise<boolean> {
  const { has } = await queryable.one<{ has: boolean }>(sql`
    select exists (select from events where id = ${BigInt(event)} and running_hash = decode(${hash}, 'hex')) as has`);
  return has;
}
