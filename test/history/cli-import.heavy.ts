import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import type { LogCopyPlace } from '../../src/platform/log-copy/place.ts';
import { type HistoryWorld, loseTo, openHistoryWorld, recoverHistory } from '../support/history-world.ts';
import { type Member, paidUnits, type World } from '../support/market-world.ts';
import { type CliRun, cliRuns } from '../world/run-cli.ts';

const { treasury } = WORLD_ACCOUNTS;
const FEE = 1_000_000n;

const cli = cliRuns();
let history: HistoryWorld;
let world: World;
let place: LogCopyPlace;
let seller: Member;

beforeAll(async () => {
  history = await openHistoryWorld();
  place = await history.newHost();
  world = await history.startMarket({ logCopy: place });
  await world.join('the-keeper');
  seller = await world.join('seller-one');
});
afterAll(() => history?.stop());

test('after a recovery the slips of an export bring the fees back, and the store is listed without another', async () => {
  const wallet = testAccount('the seller whose store was lost');
  await fund(world.chain, [{ address: wallet.address, usdcUnits: 20_000_000n, wei: 0n }]);
  const as = (args: readonly string[]): Promise<CliRun> =>
    cli.run([...args, '--key-stdin', '--json'], {
      market: world.url,
      input: `${seller.key}\n`,
      env: { OPENAISLE_WALLET_KEY: wallet.key },
      environment: { sleep: () => world.finalize() },
    });
  const paid = (): Promise<bigint[]> => paidUnits(world.chain, wallet.address, treasury.address);
  const backup = await history.primary.copyWhileRunning();
  for (const name of ['one', 'two']) {
    const file = join(cli.folder(), `${name}.txt`);
    await writeFile(file, `goods that were lost: ${name}`);
    const sold = await as(['sell', file, '--title', `Lost ${name}`, '--price', '0', '--description', 'd']);
    expect(sold.code, sold.stdout).toBe(0);
  }
  const dir = join(cli.folder(), 'store');
  expect((await as(['export', dir])).json()).toMatchObject({ status: 'ok', listings: 2 });
  await world.finalize();
  await loseTo(backup, { history, world, place });
  const early = await as(['import', dir, '--yes']);
  expect([early.code, early.json()['reason']]).toEqual([3, 'history_lost']);
  await recoverHistory(world, place);

  expect((await as(['listings'])).json()).toMatchObject({ total: 0 });
  let done = await as(['import', dir, '--yes']);
  // The command does not advance time here, so the market may not have found the fees yet and rightly answers "run it later".
  while (done.json()['reason'] === 'fee_not_back') done = await as(['import', dir, '--yes']);
  expect(done.code, done.stdout).toBe(0);
  expect(done.json()).toMatchObject({ paid_usdc: 0, listings: [{ outcome: 'listed' }, { outcome: 'listed' }] });
  expect(await paid()).toEqual([FEE, FEE]);
  expect((await as(['import', dir, '--yes'])).json()).toMatchObject({
    paid_usdc: 0,
    listings: [{ outcome: 'there' }, { outcome: 'there' }],
  });
});
