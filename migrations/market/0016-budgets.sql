-- What strangers may make the market keep: intents that nobody claimed are cleared away.

-- An intent that a claim names stays for ever. One that none names may go, long after any transfer could be made for it.
create function payment_intents_stay() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and old.expires_at < now() - interval '30 days'
     and not exists (select from payments where intent_id = old.id) then
    return old;
  end if;
  raise exception '% only grows', tg_table_name using errcode = 'restrict_violation', constraint = 'payment_intents_only_grow';
end $$;
drop trigger payment_intents_only_grow on payment_intents;
create trigger payment_intents_only_grow before update or delete on payment_intents for each row execute function payment_intents_stay();

-- concurrently
create index concurrently payment_intents_old on payment_intents (expires_at);
