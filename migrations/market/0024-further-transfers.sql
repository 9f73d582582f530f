-- compatible: older code
-- What else the payer of a claim in review sent to its payee, as the final chain shows it: the payee is told of it before it decides. It
-- pays for nothing. What the payer named meanwhile stands in claim_hashes, refused as `payment_undecided` until that decision.
create table further_transfers (
  payment_id bigint not null references payments,
  tx_hash bytea not null check (length(tx_hash) = 32),
  log_index int not null,
  value_units bigint not null check (value_units > 0),
  block_number bigint not null,
  primary key (payment_id, tx_hash, log_index)
);
create trigger further_transfers_only_grow before update or delete on further_transfers for each row execute function books_only_grow();
create trigger further_transfers_never_truncated before truncate on further_transfers for each statement execute function books_only_grow();

-- concurrently
-- Anybody may ask where a transaction stands that was named and waits.
create index concurrently claim_hashes_waiting on claim_hashes (tx_hash) where refused_reason = 'payment_undecided';
