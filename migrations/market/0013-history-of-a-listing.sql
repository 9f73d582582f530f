-- The part of the log that tells of one listing.

-- What `detail.listing_id` of the record says; null where the event is about no listing.
alter table events add column listing_id bigint check (listing_id > 0);

alter table events disable trigger events_only_grow;
update events set listing_id = told.listing_id
from (
  select queue_id, (convert_from(canonical, 'UTF8')::jsonb #>> '{detail,listing_id}')::bigint as listing_id from events
) told
where told.queue_id = events.queue_id and told.listing_id is not null;
alter table events enable trigger events_only_grow;

create index events_of_listing on events (listing_id, id desc) where listing_id is not null and id is not null;

create or replace function events_only_grow() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.id is null and new.id is not null
     and new.queue_id = old.queue_id and new.kind = old.kind and new.at = old.at and new.canonical = old.canonical
     and new.in_door = old.in_door and new.in_window = old.in_window and new.queued_at = old.queued_at
     and new.listing_id is not distinct from old.listing_id then
    return new;
  end if;
  raise exception 'the event log only grows' using errcode = 'restrict_violation', constraint = 'events_only_grow';
end $$;
