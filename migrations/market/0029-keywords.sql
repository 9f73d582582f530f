-- compatible: older code
-- Words by which a listing should be found and that its other texts lack. The version before writes none.
alter table listings add column keywords text[] not null default '{}';
alter table world_drafts add column keywords text[] not null default '{}';

-- An edit of keywords may move a listing in a walk by relevance, like an edit of the other texts.
create or replace trigger note_edit before update on listings for each row
  when ((new.title, new.description, new.preview, new.tags, new.keywords, new.aisle) is distinct from
        (old.title, old.description, old.preview, old.tags, old.keywords, old.aisle))
  execute function note_edit();

-- Keywords are terms of a draft too.
create or replace function world_drafts_step() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    raise exception 'a draft is never deleted' using errcode = 'restrict_violation', constraint = 'world_drafts_step';
  end if;
  if (new.id, new.merchant_id, new.title, new.description, new.preview, new.price_units, new.seller_wallet, new.tags, new.keywords,
      new.thing_id, new.created_at, new.expires_at) is distinct from
     (old.id, old.merchant_id, old.title, old.description, old.preview, old.price_units, old.seller_wallet, old.tags, old.keywords,
      old.thing_id, old.created_at, old.expires_at) then
    raise exception 'the terms of a draft never change' using errcode = 'restrict_violation', constraint = 'world_drafts_step';
  end if;
  if new.state <> old.state and not (
    (old.state = 'pending' and new.state in ('fee_pending', 'listed', 'canceled', 'expired'))
    or (old.state = 'fee_pending' and new.state in ('pending', 'listed', 'expired'))
  ) then
    raise exception 'a draft does not go from % to %', old.state, new.state
      using errcode = 'restrict_violation', constraint = 'world_drafts_step';
  end if;
  return new;
end $$;
