import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { emptyIdentity, printIdentity } from '../../src/cli/identity.ts';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { type Member, paidUnits, startWorld, type World } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';
import { type CliOptions, type CliRun, cliRuns } from './run-cli.ts';

const { sellerOne, treasury } = WORLD_ACCOUNTS;

const paidIn = (world: World, { address }: TestAccount): Promise<bigint[]> =>
  paidUnits(world.chain, address, treasury.address);

async function walletIn(world: World, name: string): Promise<{ wallet: TestAccount; env: Record<string, string> }> {
  const wallet = testAccount(name);
  await fund(world.chain, [{ address: wallet.address, usdcUnits: 20_000_000n, wei: 0n }]);
  return { wallet, env: { OPENAISLE_WALLET_KEY: wallet.key } };
}

/** Creates the store `ink` on one market and its empty account on a second market. Readable only while tests run. */
export function storeStage() {
  const cli = cliRuns();
  let old: World;
  let fresh: World;
  let seller: Member;
  let made = 0;

  async function identify(world: World, { id, handle, key }: Member): Promise<void> {
    const file = cli.fileOf(world.url, handle);
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const content = { ...emptyIdentity(world.url, handle), merchant_id: Number(id), merchant_key: key };
    await writeFile(file, printIdentity(content), { mode: 0o600 });
  }

  beforeAll(async () => {
    [old, fresh] = [await startWorld(), await startWorld()];
    for (const world of [old, fresh]) {
      await identify(world, await world.join('keeper'));
      const member = await world.join('ink');
      await identify(world, member);
      if (world === old) seller = member;
    }
  });
  afterAll(async () => {
    await old?.stop();
    await fresh?.stop();
  });

  /** Runs a command as the store. Its waits mine blocks. */
  const runAt = (world: World, args: readonly string[], more: CliOptions = {}): Promise<CliRun> =>
    cli.run([...args, '--handle', 'ink'], {
      market: world.url,
      environment: { sleep: () => world.finalize() },
      ...more,
    });
  const dirNamed = (name: string): string => {
    made += 1;
    return join(cli.folder(), `${name}-${made}`);
  };
  return {
    ...{ cli, at: runAt, dirNamed, identify },
    old: () => old,
    fresh: () => fresh,
    seller: () => seller,
    ...{ paidIn, walletIn },
    seed: async (given: Parameters<typeof seedListing>[2]): Promise<bigint> => {
      const { id } = await seedListing(old.db.database, seller.id, { wallet: sellerOne.address, ...given });
      return id;
    },
    /** Exports the whole store of the old market to a new folder. */
    exported: async (): Promise<string> => {
      const dir = dirNamed('store');
      const { code, stderr } = await runAt(old, ['export', dir]);
      expect(code, stderr).toBe(0);
      return dir;
    },
    keyOf: async (world: World, handle: string): Promise<string> => {
      const { merchant_key: key } = JSON.parse(await readFile(cli.fileOf(world.url, handle), 'utf8')) as {
        merchant_key: string;
      };
      return key;
    },
  };
}
