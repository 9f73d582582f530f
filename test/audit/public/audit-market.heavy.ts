import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../../src/local/chain/accounts.ts';
import { type AuditedWorld, startAuditedWorld } from '../../support/audited-world.ts';
import { usdcAdmin } from '../../support/chain.ts';
import { type SiteProxy, startSiteProxy } from '../../support/site-proxy.ts';
import { audit } from '../audit.ts';
import type { State } from '../keep-state.ts';
import { auditMarket } from './audit-market.ts';

const { treasury, sellerOne, buyerOne, buyerThree } = WORLD_ACCOUNTS;
const NO_ADDRESS = `0x${'0'.repeat(40)}`;

let staged: AuditedWorld;
let proxy: SiteProxy;
let folder: string;

beforeAll(async () => {
  staged = await startAuditedWorld();
  proxy = await startSiteProxy(() => staged.world.url);
  folder = mkdtempSync(join(tmpdir(), 'audit-'));
});

afterEach(() => proxy.twist(null));

afterAll(async () => {
  await proxy?.close();
  await staged?.world.stop();
  if (folder !== undefined) rmSync(folder, { recursive: true });
});

const auditNow = (more: { statePath?: string; fromBlock?: number; token?: string } = {}) =>
  auditMarket({ marketUrl: proxy.url, rpcUrl: staged.world.chain.url, ...more });

type Row = Record<string, unknown> & { detail: Record<string, unknown> };
interface Bodies {
  events: Row[];
  recent_fees: Row[];
  listings: Row[];
  [field: string]: unknown;
}

/** Changes the market's answers to this path from now on. */
function changeAnswers(path: RegExp, change: (body: Bodies) => void): void {
  proxy.twist((asked) => {
    if (!path.test(asked.path)) return null;
    const json = structuredClone(asked.json) as Bodies;
    change(json);
    return { status: asked.status, json };
  });
}
const SHELVES = /^\/api\/shelves/;
const changeRow = (rows: Row[], id: number, changes: object): void => {
  Object.assign(rows.find((row) => row['id'] === id) ?? {}, changes);
};
const ofEvent = (id: number, changes: Record<string, unknown>, detail: Record<string, unknown> = {}): void =>
  changeAnswers(/^\/api\/events/, ({ events }) => {
    const event = events.find((one) => one['id'] === id);
    if (event !== undefined) Object.assign(event, changes, { detail: { ...event.detail, ...detail } });
  });
const ofListing = (id: number, changes: object): void =>
  changeAnswers(SHELVES, ({ listings }) => changeRow(listings, id, changes));
const ofFee = (id: number, changes: object): void =>
  changeAnswers(/^\/treasury/, ({ recent_fees }) => changeRow(recent_fees, id, changes));

async function send(to: string, units: bigint): Promise<string> {
  const { chain } = staged.world;
  const { transactionHash } = await usdcAdmin(chain).transfer(buyerThree, to as `0x${string}`, units);
  await staged.world.finalize();
  return transactionHash;
}

it('finds an honest market honest with nothing but its address and a chain', async () => {
  const found = await auditNow();
  expect(found.faults).toEqual([]);
  expect(found).toMatchObject({
    log: { read: 6, whole: true, last_id: '6' },
    sales: { told: 3, proven: 2, free: 1 },
    fees: { read: 2, proven: 2, units: '2000000' },
    listings: 3,
    treasuries: [treasury.address],
  });
  // The hash that anybody can compute equals the market's own.
  const books = await audit({ databaseUrl: staged.world.db.url, rpcUrl: staged.world.chain.url });
  expect(found.log.running_hash).toBe(books.log.running_hash);
});

it('names what came to the treasury and is no fee, and counts what came to sellers and is not in the log', async () => {
  const fromBlock = ((await auditNow()).blocks?.to ?? 0) + 1;
  const hash = await send(treasury.address, 1_000_000n);
  await send(sellerOne.address, 7n);
  const found = await auditNow({ fromBlock });
  expect(found.faults).toEqual([]);
  const surplus = (units: string) => [{ sender: buyerThree.address, transfers: 1, units }];
  const unbooked = [{ tx_hash: hash, sender: buyerThree.address, units: '1000000' }];
  expect(found.to_treasury).toMatchObject({ transfers: 1, booked: 0, surplus: surplus('1000000'), unbooked });
  expect(found.to_sellers).toMatchObject({ transfers: 1, booked: 0, surplus: surplus('7'), unbooked: [] });
  const whole = await auditNow();
  expect(whole.to_treasury).toMatchObject({ booked: 2, unbooked: [{ sender: NO_ADDRESS }, { tx_hash: hash }] });
  expect(whole.to_sellers.booked).toBe(2);
});

const STRAY = `0x${'5'.repeat(64)}`;
const LIES: readonly (readonly [lie: string, found: RegExp, plant: () => void])[] = [
  [
    'an event is left out',
    /^the public log contradicts itself: /,
    () => changeAnswers(/^\/api\/events/, (body) => void body.events.splice(2, 1)),
  ],
  [
    'a sale names a transaction that never was',
    /a sale of listing 2, names 0x5+, which the chain does not have/,
    () => ofEvent(4, {}, { tx_hash: STRAY }),
  ],
  [
    'a sale is told of with more money than came',
    /event 4, a sale of listing 2, was paid with 3500000 units, and the goods cost 2500000\n.*did not receive 3500000/,
    () => ofEvent(4, {}, { paid_usdc: 3.5 }),
  ],
  [
    'a sale by transfer is told of as one by x402',
    /event 5, a sale of listing 2, names 0x\w+, in which 0x\w+ did not receive 2500000 units for it/,
    () => ofEvent(5, {}, { verified_via: 'x402' }),
  ],
  [
    'one transfer pays for two sales',
    /a sale of listing 2, shares its transfer in 0x\w+ with another/,
    () =>
      changeAnswers(/^\/api\/events/, ({ events }) => {
        const paid = events.filter(({ detail }) => detail['tx_hash'] !== undefined);
        for (const { detail } of paid)
          Object.assign(detail, { tx_hash: paid[0]?.detail['tx_hash'], verified_via: 'direct' });
      }),
  ],
  [
    'goods that cost something were sold for nothing',
    /event 6, a sale of listing 2, was free, and the goods cost 2500000 units/,
    () => ofEvent(6, {}, { listing_id: 2 }),
  ],
  [
    'a sale is of a listing that does not exist',
    /event 6, a sale of listing 77, is of a listing that the market does not have/,
    () => ofEvent(6, {}, { listing_id: 77 }),
  ],
  [
    'a sale names no transaction',
    /event 4, a sale of listing 2, names no transaction/,
    () => ofEvent(4, {}, { tx_hash: undefined }),
  ],
  [
    'a listing costs more than it was listed for',
    /listing 2 costs 9500000 units, and event 2 says 2500000/,
    () => ofListing(2, { price_usdc: 9.5 }),
  ],
  [
    'a listing is paid to another wallet than it was listed for',
    /listing 2 is paid to 0x\w+, and event 2 says 0x/,
    () => ofListing(2, { seller_wallet: NO_ADDRESS }),
  ],
  [
    'a listing promises other goods than it was listed with',
    /listing 2 promises 0x5+, and the log says 0x/,
    () => ofListing(2, { artifact_commitment: STRAY }),
  ],
  [
    'a listing is told of under another id',
    /listing 2 has no event that tells of it[\s\S]*event 2 tells of listing 1?\d, and no fee was paid for it/,
    () => ofEvent(2, {}, { listing_id: 12 }),
  ],
  [
    'a fee names another transaction',
    /fee 2 names 0x5+, which the chain does not have/,
    () => ofFee(2, { tx_hash: STRAY }),
  ],
  [
    'a fee is said to have been more',
    /the fees add up to 3000000 units, and the treasury says 2000000\n.*fee 2 names 0x\w+, in which 0x\w+ did not receive 2000000/,
    () => ofFee(2, { amount_usdc: 2 }),
  ],
  [
    'a fee was less than a fee',
    /1 fees are below 1000000 units, and 0 were decided to count: 2/,
    () => ofFee(2, { amount_usdc: 0.5 }),
  ],
  [
    'a fee was paid at another time',
    /fee 2 names another time than that of its block/,
    () => ofFee(2, { block_time: '2026-01-01T00:00:00.000Z' }),
  ],
  [
    'a fee is kept out of the books',
    /event 3 tells of listing 3, and no fee was paid for it/,
    () =>
      changeAnswers(/^\/treasury/, (body) => {
        body.recent_fees = body.recent_fees.filter(({ id }) => id !== 2);
        Object.assign(body, { fees_count: 1, fees_returned: body.recent_fees.length, fees_collected_usdc: 1 });
      }),
  ],
  [
    'the market takes another token for USDC',
    /the market takes 0x0+ for USDC, which is 0x8335/,
    () => changeAnswers(/^\/api\/official/, (body) => Object.assign(body, { usdc_contract: NO_ADDRESS })),
  ],
  [
    'the market names another treasury on its page',
    /the market names two treasuries/,
    () => changeAnswers(/^\/treasury/, (body) => Object.assign(body, { address: NO_ADDRESS })),
  ],
];

it.each(LIES)('finds that %s', async (_lie, found, plant) => {
  plant();
  expect((await auditNow()).faults.join('\n')).toMatch(found);
});

it('waits where the market asks a stranger to wait', async () => {
  let busy = 2;
  proxy.twist(({ path }) => {
    if (!path.startsWith('/api/events') || busy === 0) return null;
    busy -= 1;
    return { status: 429, text: '{}', headers: { 'retry-after': '0' } };
  });
  expect((await auditNow()).faults).toEqual([]);
  expect(busy).toBe(0);
});

it('names the transfer of a fee that is kept out of the books', async () => {
  const booked = new Set((await auditNow()).to_treasury.unbooked.map(({ tx_hash }) => tx_hash));
  LIES.find(([lie]) => lie === 'a fee is kept out of the books')?.[2]();
  const { unbooked } = (await auditNow()).to_treasury;
  expect(unbooked.filter(({ tx_hash }) => !booked.has(tx_hash))).toMatchObject([{ units: '1000000' }]);
});

it('goes on from where it came to, and reads of the log what is new', async () => {
  const statePath = join(folder, 'public.json');
  const first = await auditNow({ statePath });
  expect(first).toMatchObject({ faults: [], log: { read: 6, whole: true } });
  const listing = await staged.list();
  await staged.buyByX402(listing, staged.buyers[1], buyerOne);
  await staged.world.running.eventsSettled();
  const second = await auditNow({ statePath });
  expect(second).toMatchObject({
    faults: [],
    log: { read: 2, whole: false, last_id: '8' },
    sales: { told: 1, proven: 1, free: 0 },
    fees: { read: 1, proven: 1, units: '3000000' },
    blocks: { from: (first.blocks?.to ?? 0) + 1 },
    to_treasury: { booked: 1 },
    to_sellers: { transfers: 1, booked: 1 },
  });
  expect(second.to_treasury.unbooked).toEqual(first.to_treasury.unbooked);
  const whole = await auditNow();
  expect(whole).toMatchObject({ faults: [], log: { read: 8 } });
  expect(second.log.running_hash).toBe(whole.log.running_hash);
});

it('names a log that is not the one that it remembers, and keeps its state', async () => {
  const statePath = join(folder, 'public.json');
  const before = readFileSync(statePath, 'utf8');
  ofEvent(8, { actor: 'another' });
  expect((await auditNow({ statePath })).faults).toContain('event 8 is not what the state remembers');
  changeAnswers(/^\/api\/events/, (body) => {
    body.events = body.events.filter(({ id }) => Number(id) < 8);
    Object.assign(body, { total: 7, returned: 7 });
  });
  expect((await auditNow({ statePath })).faults).toContain('the public log has no event 8, which the state remembers');
  expect(readFileSync(statePath, 'utf8')).toBe(before);
  proxy.twist(null);
  const state = JSON.parse(before) as State;
  writeFileSync(statePath, JSON.stringify({ ...state, market: 'http://127.0.0.1:1' }));
  await expect(auditNow({ statePath })).rejects.toThrow('is of the market http://127.0.0.1:1');
});

it('ends with 0, 1 or 2 as a program', async () => {
  const run = (...given: string[]): Promise<{ code: unknown; stdout: string; stderr: string }> =>
    new Promise((resolve) => {
      const program = join(import.meta.dirname, '../main.ts');
      execFile(process.execPath, [program, ...given], (error, stdout, stderr) => {
        resolve({ code: error?.code ?? 0, stdout, stderr });
      });
    });
  const onChain = ['--rpc', staged.world.chain.url];
  const clean = await run('--market', proxy.url, ...onChain);
  expect(clean).toMatchObject({ code: 0, stderr: '' });
  expect(clean.stdout).toMatch(/sales: 4 told of, 3 by a final transfer of their own, 1 free\n/);
  expect(clean.stdout).toMatch(/in no book: 0x\w{64}, 1 USDC from 0x\w{40} in block \d+\n[\s\S]*\n0 faults\n$/);
  ofEvent(4, {}, { paid_usdc: 3.5 });
  expect(await run('--market', proxy.url, ...onChain, '--json')).toMatchObject({ code: 1 });
  expect(await run('--market', 'http://127.0.0.1:1', ...onChain)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^the audit could not finish: /),
  });
});
