-- compatible: older code
-- Bytes of goods that came as an upload. Older code reads only goods with `content`, so it does not deliver these.
create table goods_objects (
  id bigint generated always as identity primary key,
  -- Where the chunks are. A market that changes its store keeps the older objects where they are.
  store text not null check (store in ('postgres', 's3')),
  bytes bigint not null check (bytes > 0),
  -- Null until all bytes are stored. The salt is drawn then, so that the commitment needs no second reading.
  sha256 bytea check (length(sha256) = 32),
  salt bytea check (length(salt) = 32),
  commitment bytea check (length(commitment) = 32),
  created_at timestamptz not null,
  check (num_nonnulls(sha256, salt, commitment) in (0, 3))
);

create table goods_chunks (
  object_id bigint not null references goods_objects,
  -- Offset of the first byte in the object.
  start bigint not null check (start >= 0),
  bytes int not null check (bytes > 0),
  content bytea check (length(content) = bytes),
  -- Random, and used once.
  s3_name text unique,
  check (num_nonnulls(content, s3_name) = 1),
  primary key (object_id, start)
);
-- Goods are mostly compressed already, and ranges of uncompressed values are read without reading the rest.
alter table goods_chunks alter column content set storage external;

-- Objects in the S3 store that are to be deleted. A name is entered before its object is written, and leaves when a chunk refers to it.
create table goods_deletions (
  s3_name text primary key,
  due_at timestamptz not null
);
create index goods_deletions_by_time on goods_deletions (due_at);

alter table artifacts alter column content drop not null;
alter table artifacts add column object_id bigint unique references goods_objects;
-- True once the operator erased the bytes, because they are unlawful.
alter table artifacts add column erased boolean not null default false;
alter table artifacts add constraint artifacts_one_place check (num_nonnulls(content, object_id) = case when erased then 0 else 1 end) not valid;

-- Fingerprint of uploaded goods whose fee is under way. Goods in `body` need none, because their bytes are there.
alter table pending_listings
  add column bands int4[],
  add column signature bit(512),
  add constraint pending_listings_one_shape check (num_nonnulls(bands, signature) in (0, 2));

create table uploads (
  id text primary key check (length(id) = 22),
  merchant_id bigint not null references merchants,
  -- Null once the bytes are deleted or belong to a listing. The row stays for a while, so that a repeated request is recognised.
  object_id bigint unique references goods_objects,
  bytes bigint not null check (bytes > 0),
  received bigint not null default 0 check (received between 0 and bytes),
  -- The request that may append. A newer request takes over, because a lost connection may be noticed late.
  writer bytea,
  sha256 bytea check (length(sha256) = 32),
  filename text,
  media_type text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- The fee that holds the bytes. They do not expire meanwhile. Older code may end a fee without giving them back, and then prune it.
  payment_id bigint references payments on delete set null,
  -- The listing that got the bytes.
  listing_id bigint references listings,
  -- When the bytes were listed, deleted or expired.
  ended_at timestamptz,
  check (num_nonnulls(payment_id, listing_id) <= 1),
  check (object_id is not null or ended_at is not null),
  check (sha256 is null or received = bytes)
);
create index uploads_of_merchant on uploads (merchant_id, created_at desc);
create index uploads_by_expiry on uploads (expires_at) where ended_at is null;
create index uploads_by_end on uploads (ended_at) where ended_at is not null;
create index uploads_of_payment on uploads (payment_id) where payment_id is not null;

create function goods_chunks_step() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    raise exception 'a chunk of goods never changes' using errcode = 'restrict_violation', constraint = 'goods_chunks_step';
  end if;
  if tg_op = 'INSERT' and exists (select from goods_objects where id = new.object_id and sha256 is not null) then
    raise exception 'the goods are whole' using errcode = 'restrict_violation', constraint = 'goods_chunks_step';
  end if;
  if tg_op = 'DELETE' then
    if exists (select from artifacts where object_id = old.object_id) then
      raise exception 'listed goods are never deleted' using errcode = 'restrict_violation', constraint = 'goods_chunks_step';
    end if;
    return old;
  end if;
  return new;
end $$;
create trigger goods_chunks_step before insert or update or delete on goods_chunks for each row execute function goods_chunks_step();

create function goods_objects_step() returns trigger language plpgsql as $$
begin
  if (new.id, new.store, new.bytes, new.created_at) is distinct from (old.id, old.store, old.bytes, old.created_at)
     or (old.sha256 is not null and (new.sha256, new.salt, new.commitment) is distinct from (old.sha256, old.salt, old.commitment)) then
    raise exception 'the identity of goods never changes' using errcode = 'restrict_violation', constraint = 'goods_objects_step';
  end if;
  return new;
end $$;
create trigger goods_objects_step before update on goods_objects for each row execute function goods_objects_step();
