-- More than one provider (W9): what halts the payments in every process, and what an operator did about it.

-- The operator's commands. The log of them is what gives them effect, so none can be left out of it.
create table chain_commands (
  id bigint generated always as identity primary key,
  chain_id bigint not null,
  act text not null check (act in ('resume', 'reset_watermark')),
  reason text not null check (length(reason) between 1 and 1000),
  before jsonb not null,
  after jsonb not null,
  at timestamptz not null,
  db_role text not null default session_user,
  -- What a command may do, it may do in the transaction that writes it down.
  made_in xid8 not null default pg_current_xact_id()
);
create trigger chain_commands_only_grow before update or delete on chain_commands for each row execute function books_only_grow();
create trigger chain_commands_never_truncated before truncate on chain_commands for each statement execute function books_only_grow();

-- While a row without an end is here nothing is delivered and no payment is opened, by any process, also after a restart.
create table chain_halts (
  id bigint generated always as identity primary key,
  chain_id bigint not null,
  reason text not null check (reason in ('finalized_conflict')),
  detail text not null,
  halted_at timestamptz not null,
  resumed_at timestamptz,
  resumed_by bigint references chain_commands,
  check ((resumed_at is null) = (resumed_by is null))
);
create unique index chain_halts_one_open on chain_halts (chain_id) where resumed_at is null;

create function chain_halts_end_once() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.resumed_at is null and new.resumed_at is not null
     and (new.id, new.chain_id, new.reason, new.detail, new.halted_at) is not distinct from
         (old.id, old.chain_id, old.reason, old.detail, old.halted_at)
     and exists (select from chain_commands c where c.id = new.resumed_by and c.act = 'resume'
                 and c.chain_id = new.chain_id and c.made_in = pg_current_xact_id()) then
    return new;
  end if;
  raise exception 'a halt ends once, by a command that is written down' using errcode = 'restrict_violation',
    constraint = 'chain_halts_end_once';
end $$;
create trigger chain_halts_end_once before update or delete on chain_halts for each row execute function chain_halts_end_once();
create trigger chain_halts_never_truncated before truncate on chain_halts for each statement execute function books_only_grow();

-- How often it was reset: whoever read it before a reset must not raise it by what it had read.
alter table chain_watermarks add column resets int not null default 0;

create or replace function watermark_never_goes_back() returns trigger language plpgsql as $$
declare
  goes_back boolean;
begin
  if tg_op = 'UPDATE' and new.chain_id = old.chain_id then
    goes_back := new.block_number < old.block_number
      or (new.block_number = old.block_number and new.block_hash <> old.block_hash);
    if not goes_back and new.resets = old.resets then
      return new;
    end if;
    -- Only to the very block of a command that this transaction has written down.
    if new.resets = old.resets + 1 and exists (
      select from chain_commands c where c.chain_id = new.chain_id and c.act = 'reset_watermark'
        and c.made_in = pg_current_xact_id() and (c.after->>'block_number')::bigint = new.block_number
        and c.after->>'block_hash' = '0x' || encode(new.block_hash, 'hex')) then
      return new;
    end if;
  end if;
  raise exception 'the watermark never goes back' using errcode = 'restrict_violation', constraint = 'watermark_never_goes_back';
end $$;
create trigger chain_watermarks_never_truncated before truncate on chain_watermarks for each statement execute function books_only_grow();
