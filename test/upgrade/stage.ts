import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { startTestChain } from '../support/chain.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startTestFacilitator, type TestFacilitator } from '../support/facilitator.ts';
import { BASE_URL } from '../support/market-world.ts';

/** What markets as processes of any version stand on. */
export interface UpgradeStage {
  db: TestDatabase;
  chain: LocalChain;
  facilitator: TestFacilitator;
  /** Of a market on this database, which has no tables yet; `joinMarket` makes members for its pepper. */
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
