-- Authorizations of value 0 that have collected goods: each once per caller, until it runs out by itself. The row goes after that.

create table collect_signatures (
  payer bytea not null check (length(payer) = 20),
  nonce bytea not null check (length(nonce) = 32),
  -- Whose key came along; null: none did.
  merchant_id bigint references merchants,
  ends_at timestamptz not null,
  unique nulls not distinct (payer, nonce, merchant_id)
);
create index collect_signatures_by_end on collect_signatures (ends_at);
