-- compatible: older code
-- Tokens that collect a file, given to a payer who signed. Older code gives none and reads none.
create table download_tokens (
  token_hash bytea primary key check (length(token_hash) = 32),
  listing_id bigint not null references listings,
  payer bytea not null check (length(payer) = 20),
  expires_at timestamptz not null
);
create index download_tokens_by_expiry on download_tokens (expires_at);
