import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { startTestChain } from '../support/chain.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startTestFacilitator, type TestFacilitator } from '../support/facilitator.ts';
import { BASE_URL } from '../support/market-world.ts';

/** Everything that market processes of any version need. */
export interface UpgradeStage {
  db: TestDatabase;
  chain: LocalChain;
  facilitator: TestFacilitator;
  /** Environment for a market on this database, which has no tables yet. Its pepper is the one that `joinMarket` uses. */
  environment: Record<string, string>;
  stop(): Promise<void>;
}

export async function openUpgradeStage(): Promise<UpgradeStage> {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-upgrade-'));
  const db = await createTestDatabase({ migrated: false });
  const chain = await startTestChain({ finalityBlocks: 4 });
  const facilitator = await startTestFacilitator(chain);
  await writeFile(join(folder, 'pepper'), `1:${'07'.repeat(32)}\n`, { mode: 0o600 });
  return {
    db,
    chain,
    facilitator,
    environment: {
      OPENAISLE_BASE_URL: BASE_URL,
      DATABASE_URL: db.url,
      OPENAISLE_DATA_DIR: folder,
      OPENAISLE_PEPPER_FILE: join(folder, 'pepper'),
      OPENAISLE_RPC_URLS: chain.url,
      OPENAISLE_FINALITY_MIN_AGE_SECONDS: '0',
      OPENAISLE_TREASURY: WORLD_ACCOUNTS.treasury.address,
      OPENAISLE_FACILITATOR_URL: facilitator.url,
    },
    stop: async () => {
      await facilitator.close();
      await chain.stop();
      await db.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export const LISTINGS = 10_000;
export const EVENTS = 100_000;
/** Number of proofs that were never submitted and are still valid. The same number of proofs have expired. */
export const OPEN_PROOFS = 20;

/**
 * Fills a market's history with SQL for the tables of the commit in `trees.ts`. Names each column and uses no code that may change. The
 * first merchant, who pays no fee, has listed everything.
 */
export async function fillTables(database: Database, wallet: Buffer): Promise<void> {
  await database.transaction(async (tx) => {
    // Skip the row triggers of append-only tables, which would accept these rows but take minutes.
    await tx.run(sql`set local session_replication_role = replica`);
    await tx.run(sql`insert into wallet_uses (wallet, kind) values (${wallet}, 'ordinary') on conflict do nothing`);
    await tx.run(sql`
      insert into listings (id, merchant_id, title, description, preview, price_units, seller_wallet, tags, aisle, created_at,
        artifact_commitment, artifact_bytes, artifact_encoding, artifact_media_type, body_hash)
      select n, 1, 'Goods number ' || n, 'What number ' || n || ' is', 'A look at ' || n, 1000000 + n, ${wallet},
        array['made', 'kept'], 'other', timestamptz '2026-01-05T12:00:00Z' + n * interval '1 second',
        sha256(sha256(convert_to('salt ' || n, 'UTF8')) || convert_to('old goods ' || n, 'UTF8')),
        length('old goods ' || n), 'utf-8', 'text/plain; charset=utf-8', sha256(convert_to('body ' || n, 'UTF8'))
      from generate_series(1, ${LISTINGS}::int) n`);
    await tx.run(sql`
      insert into artifacts (listing_id, salt, content)
      select n, sha256(convert_to('salt ' || n, 'UTF8')), convert_to('old goods ' || n, 'UTF8')
      from generate_series(1, ${LISTINGS}::int) n`);
    await tx.run(sql`
      with told as (
        select n, n <= ${LISTINGS} as is_listing, timestamptz '2026-01-05T12:00:00Z' + n * interval '1 second' as at,
          1 + (n - 1) % ${LISTINGS} as listing_id
        from generate_series(1, ${EVENTS}::int) n
      )
      insert into events (id, kind, at, canonical, in_door, in_window, queued_at, nth_of_kind, nth_of_door, nth_of_window, listing_id)
      select n, case when is_listing then 'maintainer_seed' else 'flag' end, at, convert_to('{"actor":"the-keeper","at":"' ||
          to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '","detail":{"listing_id":' || listing_id ||
          case when is_listing then ',"merchant_id":1,"price_usdc":' || trim_scale((1000000 + n) / 1000000.0)::text else '' end || '},"kind":"' || case when is_listing then 'maintainer_seed' else 'flag' end || '"}', 'UTF8'),
        is_listing, is_listing, at, case when is_listing then n else n - ${LISTINGS} end,
        least(n, ${LISTINGS}), least(n, ${LISTINGS}), listing_id
      from told order by n`);
  });
  await fillProofs(database, wallet);
  await database.run(sql`analyze`);
}

/** Inserts proofs that arrived but were never used. The market itself ends the expired ones. */
async function fillProofs(database: Database, wallet: Buffer): Promise<void> {
  const asset = Buffer.from('833589fcd6edb6e08f4c7c32d4f71b54bda02913', 'hex');
  await database.run(sql`
    insert into payments (purpose, path, status, listing_id, chain_id, asset, payee, payer, value_units, nonce, valid_after,
      valid_before, opened_block, created_at, updated_at)
    select 'purchase', 'x402', 'verifying', n, 8453, ${asset}, ${wallet}, substr(sha256(convert_to('payer ' || n, 'UTF8')), 1, 20),
      1000000 + n, sha256(convert_to('nonce ' || n, 'UTF8')), 0, case when n % 2 = 0 then 4000000000 else 1000000000 end, 1,
      now() - interval '1 hour', now() - interval '1 hour'
    from generate_series(1, ${2 * OPEN_PROOFS}::int) n`);
}
