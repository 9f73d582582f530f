-- compatible: older code
-- Handles that look alike are folded to one text. New residents alone are judged by it: who registered before keeps the handle.

create function fold_handle(handle text) returns text language sql immutable strict parallel safe as $$
  select replace(
    regexp_replace(replace(replace(translate(handle, '01ij5348279q-', 'olllseabztgg'), 'm', 'rn'), 'w', 'vv'), 'n(?=[rn]*n)', 'r', 'g'),
    'cl', 'd')
$$;

-- The folded handle of a resident that was judged by it; null for who registered before, and for a handle that a recovery only holds.
alter table residents add column handle_folded text;

-- concurrently
-- No two new handles look alike. Null, which the version before writes, is never in its way.
create unique index concurrently residents_by_handle_folded on residents (handle_folded);
-- Every handle there is, also one that the version before has just registered: a new handle is compared with these.
create index concurrently residents_by_folded_handle on residents (fold_handle(handle));
