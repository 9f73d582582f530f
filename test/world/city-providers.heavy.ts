import sql from 'sql-template-tag';
import { afterAll, afterEach, expect, it } from 'vitest';
import { readBlock } from '../../src/platform/chain/reads.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { reasonOf } from '../support/ask.ts';
import { startRpcProxy } from '../support/rpc-proxy.ts';
import { citySale, type OpenedOffer, type Person, PRICE, type ReservationOut } from './city-sale.ts';

const [primary, spare] = [await startRpcProxy(), await startRpcProxy()];
// Registered before the sale, because hooks registered last run first.
afterAll(() => Promise.all([primary.close(), spare.close()]));
const sale = citySale({ finalityBlocks: 4, rpcUrls: (chain) => [primary.at(chain), spare.at(chain)] });

afterEach(() => {
  primary.heal();
  spare.heal();
});

interface Held {
  offer: OpenedOffer;
  buyer: Person;
  reservation: ReservationOut;
}

async function holdOffer(): Promise<Held> {
  await resetProviders();
  const [offer, buyer] = [await sale.offer(), await sale.person()];
  return { offer, buyer, reservation: await sale.reserve(offer, buyer) };
}

const payFor = ({ offer, buyer }: Held): Promise<Hex> =>
  sale.pay({ from: buyer.wallet, to: offer.seller.wallet.address, units: PRICE });
const claim = ({ offer, buyer, reservation }: Held, txHash: Hex) =>
  sale.claim(offer, buyer, txHash, reservation.challenge);
const look = async ({ offer, buyer }: Held) => (await sale.reconcile(offer, buyer)).phase;
const pass = async (seconds: number): Promise<void> => sale.mineAt((await sale.time()) + seconds);
/** Waits until earlier provider faults are forgotten, then records a good answer and a head for each provider. */
async function resetProviders(): Promise<void> {
  primary.heal();
  spare.heal();
  await pass(120);
  for (const standing of sale.city.providerHealth.all) {
    for (const about of ['logs', 'receipts'] as const) standing.noteAnswer(about, true);
    standing.noteHead({ number: 0n, timestamp: BigInt(await sale.time()) });
  }
}

/** Lowers the amount in the receipt and logs of that transaction. */
const lowerAmountIn =
  (txHash: Hex) =>
  (result: unknown): unknown => {
    const text = JSON.stringify(result);
    if (!text.includes(txHash)) return result;
    return JSON.parse(text.replaceAll(`0x${PRICE.toString(16).padStart(64, '0')}`, `0x${'1'.padStart(64, '0')}`));
  };

it('two that show the same sell it', async () => {
  const one = await holdOffer();
  const txHash = await payFor(one);
  await sale.finalize();
  const before = spare.calls();
  expect((await claim(one, txHash)).status).toBe(200);
  expect(spare.calls()).toBeGreaterThan(before);
});

it.each([
  ['the second', primary, spare],
  ['the first', spare, primary],
])('where %s shows another amount nothing is decided; it is when both agree', async (_, _honest, liar) => {
  const one = await holdOffer();
  const txHash = await payFor(one);
  await sale.finalize();
  liar.twist(lowerAmountIn(txHash));
  expect(await claim(one, txHash)).toMatchObject({ status: 202 });
  expect(await look(one)).not.toBe('payment_invalid');
  liar.twist(null);
  expect(await look(one)).toBe('claimed');
});

it('one that has not reached the block holds it up; one that is silent does for a minute', async () => {
  const one = await holdOffer();
  const txHash = await payFor(one);
  await sale.finalize();
  spare.lag(6);
  expect((await claim(one, txHash)).body.offer.phase).toBe('payment_pending');
  spare.heal();
  spare.silence(true);
  for (let gone = 0; gone <= 60; gone += 20) {
    expect(await look(one)).toBe('payment_pending');
    await pass(20);
  }
  expect(await look(one)).toBe('claimed');
});

it('a reservation is over when all have a block at its end: one that lags keeps it', async () => {
  const one = await holdOffer();
  const end = Date.parse(one.reservation.reserved_until) / 1_000;
  await sale.mineAt(end - 1);
  await sale.mineAt(end);
  spare.lag(1);
  expect(await look(one)).toBe('reserved');
  spare.heal();
  primary.lag(1);
  expect(await look(one)).toBe('reserved');
  primary.heal();
  expect(await look(one)).toBe('listed');
});

it.each([
  ['the leading one', primary],
  ['the other one', spare],
])('where %s hides a transfer the thing is not freed', async (_, liar) => {
  const one = await holdOffer();
  await payFor(one);
  liar.twist((result, { method }) => (method === 'eth_getLogs' ? [] : result));
  await pass(301);
  expect(await look(one)).toBe('payment_pending');
});

it('a claim waits while the finalized block is another one when it is looked at again', async () => {
  const one = await holdOffer();
  const txHash = await payFor(one);
  await sale.finalize();
  await sale.finalize();
  const finalized = await readBlock(sale.chain.rpc, 'finalized');
  let hasSwitched = false;
  primary.twist((result, { method, params }) => {
    if (method === 'eth_getTransactionReceipt') hasSwitched = true;
    const isFinalized = method === 'eth_getBlockByNumber' && params[0] === `0x${finalized?.number.toString(16)}`;
    return hasSwitched && isFinalized ? { ...(result as object), hash: `0x${'0b'.repeat(32)}` } : result;
  });
  expect((await claim(one, txHash)).body.offer.phase).toBe('payment_pending');
  expect(hasSwitched).toBe(true);
  primary.heal();
  expect(await look(one)).toBe('claimed');
});

it('where what was final is another block nothing is begun, and nothing is given up', async () => {
  const one = await holdOffer();
  await look(one);
  const rows = await sale.db.database.rows<{ block_number: bigint }>(sql`select block_number from chain_watermarks`);
  await pass(301);
  for (const liar of [primary, spare]) {
    liar.twist((result, { method, params }) => {
      const isMark = method === 'eth_getBlockByNumber' && params[0] === `0x${rows[0]?.block_number.toString(16)}`;
      return isMark ? { ...(result as object), hash: `0x${'0c'.repeat(32)}` } : result;
    });
  }
  expect(await look(one)).toBe('reserved');
  const [offer, buyer] = [await sale.offer(), await sale.person()];
  expect(await reasonOf(sale.reserve(offer, buyer))).toBe('payment_check_unavailable');
  expect(sale.logLines.filter(({ event }) => event === 'chain_head_refused')).toContainEqual(
    expect.objectContaining({ fields: expect.objectContaining({ why: 'watermark_contradicted' }) }),
  );
  primary.heal();
  spare.heal();
  expect(await look(one)).toBe('listed');
});

it('where the window cannot be read nothing changes', async () => {
  const one = await holdOffer();
  await pass(301);
  for (const liar of [primary, spare]) {
    liar.twist((result, { method }) => (method === 'eth_getLogs' ? 'nonsense' : result));
    expect(await look(one)).toBe('reserved');
    liar.heal();
  }
  expect(await look(one)).toBe('listed');
});

it('one on another chain neither sells nor frees anything', async () => {
  const [paid, unpaid] = [await holdOffer(), await holdOffer()];
  const txHash = await payFor(paid);
  await sale.finalize();
  for (const liar of [primary, spare]) {
    liar.twist((result, { method }) => (method === 'eth_chainId' ? '0x1' : result));
    const elsewhere = await claim(paid, txHash);
    expect([elsewhere.status, elsewhere.body.offer.phase]).toEqual([202, 'payment_pending']);
    liar.heal();
  }
  await pass(301);
  primary.twist((result, { method }) => (method === 'eth_chainId' ? '0x1' : result));
  expect(await look(unpaid)).toBe('reserved');
  primary.heal();
  expect([await look(paid), await look(unpaid)]).toEqual(['claimed', 'listed']);
});
