import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { readBlock } from '../../src/platform/chain/reads.ts';
import type { LogCopyPlace } from '../../src/platform/log-copy/place.ts';
import { compileCache } from '../support/compile-cache.ts';
import { claim, payDirectly } from '../support/direct.ts';
import { type HistoryWorld, loseTo, openHistoryWorld, until } from '../support/history-world.ts';
import type { Member, World } from '../support/market-world.ts';
import { fundedWallet, GAS_WEI, listPaid, newGoods, PRICE } from '../support/trade.ts';

const COMMAND = fileURLToPath(new URL('../../src/market/chain-command.ts', import.meta.url));

let history: HistoryWorld;
let world: World;
let place: LogCopyPlace;
let seller: Member;
let buyer: Member;

beforeEach(async () => {
  history = await openHistoryWorld();
  place = await history.newHost();
  world = await history.startMarket({ logCopy: place });
  await world.join('the-keeper');
  seller = await world.join('seller-one');
  buyer = await world.join('buyer-one');
});
afterEach(() => history.stop());

/** Runs the operator's own command with the owner's rights. */
async function runRecover(...args: string[]) {
  const child = spawn(process.execPath, [COMMAND, 'recover', '--reason', 'the disk failed', ...args], {
    env: {
      PATH: process.env['PATH'] ?? '',
      ...compileCache(),
      DATABASE_URL: history.db.url,
      OPENAISLE_PEPPER_FILE: 'not read',
      OPENAISLE_RPC_URLS: world.chain.url,
      OPENAISLE_FACILITATOR_URL: 'http://127.0.0.1:1',
      OPENAISLE_TREASURY: WORLD_ACCOUNTS.treasury.address,
      OPENAISLE_FINALITY_MIN_AGE_SECONDS: '0',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, stdout, stderr };
}

async function list(price: number): Promise<bigint> {
  const { body } = await listPaid(world, seller, newGoods({ price_usdc: price }), await fundedWallet(world));
  return BigInt((body['listing'] as { id: number }).id);
}

/** Buys by a transfer and collects the goods. Returns the transaction hash. */
async function buy(listingId: bigint): Promise<string> {
  const payer = await fundedWallet(world);
  await fund(world.chain, [{ address: payer.address, usdcUnits: 0n, wei: GAS_WEI }]);
  const paid = await payDirectly(world, { buyer, listingId, payer, units: PRICE });
  await world.finalize();
  expect((await claim(world, buyer, listingId, paid)).status).toBe(200);
  return paid.txHash;
}

async function comment(listing: bigint, words: string): Promise<number> {
  const body = { listing_id: Number(listing), body: words };
  const answer = await world.ask('POST', '/api/comment', { key: buyer.key, body });
  return (answer.body['comment'] as { id: number }).id;
}

/** Returns the first block at or after that second. */
async function firstAt(second: number): Promise<{ number: number; second: number }> {
  for (let number = 0n; ; number += 1n) {
    const block = await readBlock(world.chain.rpc, number);
    if (block === null) throw new Error('the chain has no block of that time');
    if (Number(block.timestamp) >= second) return { number: Number(number), second: Number(block.timestamp) };
  }
}

/** Makes a paid sale, a free one and a comment, which the restored books lack. */
async function loseTrade() {
  const [paid, free] = [await list(2.5), await list(0)];
  await comment(paid, 'A remark that is kept');
  const backup = await history.primary.copyWhileRunning();
  const at = await readBlock(world.chain.rpc, 'latest');
  if (at === null) throw new Error('the chain has no block');
  // Blocks may share a second, and the command starts at the second after this one.
  const latestSecond = async (): Promise<number> => {
    await world.chain.mine(1);
    return Number((await readBlock(world.chain.rpc, 'latest'))?.timestamp ?? 0n);
  };
  await expect.poll(latestSecond).toBeGreaterThan(Number(at.timestamp));
  const txHash = await buy(paid);
  expect((await world.buy(free, { key: buyer.key })).status).toBe(200);
  const said = await comment(paid, 'A remark that is lost');
  await loseTo(backup, { history, world, place });
  return { paid, free, txHash, said, backup: { second: Number(at.timestamp) } };
}

test('the command counts lost sales and comments, names each, and finds the first block of a time', async () => {
  const { paid, free, txHash, said, backup } = await loseTrade();
  const copy = ['--log-copy', place.folder];
  const [both, neither, zoneless, later] = await Promise.all([
    runRecover('--from-time', '2026-11-27T08:52:14Z', '--from-block', '1', ...copy),
    runRecover(...copy),
    runRecover('--from-time', '2026-11-27T08:52:14', ...copy),
    runRecover('--from-time', new Date((backup.second + 86_400) * 1000).toISOString(), ...copy),
  ]);
  for (const refused of [both, neither]) {
    expect(refused).toMatchObject({
      code: 1,
      stderr: '--from-block NUMBER or --from-time TIME is needed, and only one of them\n',
    });
  }
  expect(zoneless.stderr).toContain('--from-time must be a time with its zone');
  expect(later.stderr).toContain('yet: the newest is block');

  // The time is in PostgreSQL's format, one second after the backup.
  const time = new Date((backup.second + 1) * 1000);
  const first = await firstAt(backup.second + 1);
  const asked = `${time.toISOString().slice(0, 19).replace('T', ' ')}+00`;
  const { code, stdout } = await runRecover('--from-time', asked, ...copy, '--json');
  const told = JSON.parse(stdout);
  expect({ code, told }).toMatchObject({
    code: 0,
    told: {
      ...{ status: 'recovered', copies: 'read', window: { from_block: first.number } },
      from_time: {
        ...{ asked: time.toISOString(), block_number: first.number },
        block_time: new Date(first.second * 1000).toISOString(),
      },
      lost: { sales: 2, comments: 1, listings: 0, merchants: 0 },
      lost_sales: [
        { listing_id: Number(paid), paid_usdc: 2.5, verified_via: 'direct', tx_hash: txHash },
        { listing_id: Number(free), paid_usdc: 0, verified_via: 'free', tx_hash: null },
      ],
      lost_comments: [{ comment_id: said, listing_id: Number(paid), author: buyer.handle }],
    },
  });
  await until(async () => (await world.ask('GET', '/readyz?strict')).status === 200);
});

test('for a person it says the same in lines, and does not say that nothing was lost where no copy tells', async () => {
  const { paid, txHash, said, backup } = await loseTrade();
  const from = ['--from-time', new Date(backup.second * 1000).toISOString()];
  const { code, stdout } = await runRecover(...from, '--log-copy', place.folder);
  expect(code).toBe(0);
  const lines = stdout.split('\n');
  const time = new Date(backup.second * 1000).toISOString();
  const first = await firstAt(backup.second);
  expect(lines).toContain(`Block ${first.number} of ${time} is the first at or after ${time}.`);
  expect(stdout).toMatch(/^Lost, as far as the copies tell: .*, 2 sales, 1 comments\.$/m);
  expect(stdout).toMatch(
    new RegExp(`^sale of listing ${paid} at .*: 2.5 USDC \\(direct\\), transaction ${txHash}$`, 'm'),
  );
  expect(stdout).toMatch(new RegExp(`^comment ${said} on listing ${paid} at .* by ${buyer.handle}$`, 'm'));
  const blind = await runRecover('--from-block', '0', '--without-log-copy');
  expect(blind.stdout).toContain('No copy of the log tells what was lost.');
  expect(blind.stdout).not.toContain('0 sales');
});
