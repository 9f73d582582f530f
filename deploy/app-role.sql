-- Rights of the role under which the market runs, where the operator gives it one apart from the owner of the tables.
-- Run it as the owner, after the migrations: create role openaisle_app login password '...' first, then
--   psql "$OWNER_URL" -v ON_ERROR_STOP=1 -f deploy/app-role.sql
-- In an upgrade `npm run migrate -- --app-role openaisle_app` grants what is new and takes nothing away; this takes away what only the version
-- before needed, so run it again once that is gone (docs/upgrade.md). It is one transaction: a market that runs meanwhile is never without its
-- rights. Triggers hold the same rules for every role; this makes sure that the market itself could not switch them off.

begin;

revoke all on all tables in schema public from openaisle_app;
grant usage on schema public to openaisle_app;
grant select on all tables in schema public to openaisle_app;
grant usage on all sequences in schema public to openaisle_app;

-- The log only grows: content is written once, the number is given once; hash and time of numbering are the owner's, by a trigger. Another
-- trigger holds every event against the row that it tells of.
grant insert (kind, at, canonical, in_door, in_window, listing_id) on events to openaisle_app;
grant update (id, nth_of_kind, nth_of_door, nth_of_window) on events to openaisle_app;

-- The books only grow.
grant insert on payment_proofs, fees, purchases to openaisle_app;

-- A payment moves forward; its terms and its existence are not the role's to change. Lapsed attempts go by a function of the owner's.
grant insert on payments to openaisle_app;
grant update (status, tx_hash, block_number, block_time, log_index, stopped_at, end_reason, payer_collects_only, settling_at, ended_at, updated_at, payer,
  review_outcome, reviewed_by, review_note, reviewed_at) on payments to openaisle_app;
-- An intent is written once, and cleared away if nobody claims it; what a claim names changes until it is decided.
grant insert, delete on payment_intents to openaisle_app;
grant insert, update, delete on claim_hashes to openaisle_app;
-- What else a payer in review sent is written down once, for the payee.
grant insert on further_transfers to openaisle_app;
-- A claim without a signature ends once.
grant insert on unproven_claims to openaisle_app;
grant update (outcome, ended_at, decided_by, note) on unproven_claims to openaisle_app;

-- Price, wallet and origin of a listing are not here either.
grant insert on listings, artifacts, listing_answers, wallet_uses, artifact_shapes to openaisle_app;
grant update (state, pinned, removed_at, removed_reason, removed_reason_code, withdrawn_at, withdrawn_reason)
  on listings to openaisle_app;
-- What an edit changes before the first purchase. The trigger gives the number of the edit, so the role need not.
grant update (title, description, preview, tags, aisle, text_flags, artifact_commitment, artifact_bytes, artifact_encoding, artifact_media_type,
  artifact_filename, license, keywords) on listings to openaisle_app;
grant update (salt, content, object_id) on artifacts to openaisle_app;
grant update (bands, signature), delete on artifact_shapes to openaisle_app;
grant insert, update on pin_periods to openaisle_app;

-- Bytes of uploads are written once and deleted once nothing refers to them; triggers keep those of listed goods. Erasing goods is the
-- operator's, under the owner's role (npm run maintainer -- erase).
grant insert, delete on goods_objects, goods_chunks, goods_deletions, uploads to openaisle_app;
grant update (sha256, salt, commitment) on goods_objects to openaisle_app;
grant update (due_at) on goods_deletions to openaisle_app;
grant update (object_id, received, writer, sha256, expires_at, payment_id, listing_id, ended_at) on uploads to openaisle_app;

-- What was said stays: a removal is taken back once, an appeal decided once, a comment emptied once.
grant insert on votes, comments, flags, removals, appeals, text_removals to openaisle_app;
grant update (removed_at, removed_reason_code, removed_reason) on comments to openaisle_app;
grant update (restored_at) on removals to openaisle_app;
grant update (outcome, outcome_reason, decided_at) on appeals to openaisle_app;
grant update (store_line, city_handle) on merchants to openaisle_app;

-- What was drafted, listed or checked out of a city stays; only where it stands changes. A wallet that a draft let go may be used for goods.
grant insert on world_drafts, world_listings, world_checkouts to openaisle_app;
grant update (state, offer_id, payment_id, listing_id, held_wallet, ended_at) on world_drafts to openaisle_app;
grant update (phase, looked_at, differs_since, review_reason, review_tx_hash, reviewed_at) on world_listings to openaisle_app;
grant update (state) on world_checkouts to openaisle_app;
grant delete on wallet_uses to openaisle_app;

-- What catalogs follow is written by triggers and pruned by the market.
grant insert, delete on catalog_changes to openaisle_app;
grant update on catalog_state to openaisle_app;

-- What is replaced is ended and stays on record; only under a new pepper does a hash change.
grant insert on merchants, merchant_keys, recovery_sets, recovery_codes, hosted_grants to openaisle_app;
grant update (revoked_at, last_used_on, key_hash, pepper_version) on merchant_keys to openaisle_app;
grant update (ended_at, ended_as) on recovery_sets to openaisle_app;
grant update (revoked_at, scopes, proven_at) on hosted_grants to openaisle_app;
grant insert on hosted_proven_hosts to openaisle_app;
grant insert, update, delete on oauth_artifacts, connect_proofs to openaisle_app;
grant insert, update, delete on pairing_codes to openaisle_app;
grant insert, update, delete on identity_stages, rate_counters, artifact_guards, pending_listings to openaisle_app;
grant insert, update, delete on collect_signatures to openaisle_app;
grant insert, update, delete on download_tokens to openaisle_app;
grant insert, update on facilitator_signers, facilitator_readings to openaisle_app;

-- How far this host has seen the log, and that it found it shorter. Recovering from that is the operator's, under the owner's role
-- (npm run chain); what waits for a new key ends with it.
grant insert, update on log_copies to openaisle_app;
grant insert on history_losses to openaisle_app;
grant delete on identity_locks to openaisle_app;

-- The watermark is raised, and payments halted, by the market. Resetting the one and ending the other is the operator's, under the
-- owner's role (npm run chain): the market has no right to write the log of commands, without which neither can be done.
grant insert on chain_watermarks, chain_halts to openaisle_app;
grant update (block_number, block_hash, block_time, accepted_at) on chain_watermarks to openaisle_app;

commit;
