import { expect, it } from 'vitest';
import { createMetrics } from '../../src/market/create-metrics.ts';
import { chainFacts } from '../../src/market/observe-chain.ts';
import { claim, type DirectPurchase, payDirectly } from '../support/direct.ts';
import { type PaidGoods, tradeOnPair } from '../support/rpc-pair.ts';
import { GAS_WEI, PRICE } from '../support/trade.ts';

const FINALITY_BLOCKS = 60;
const pair = await tradeOnPair({ chain: { finalityBlocks: FINALITY_BLOCKS } });
const { world, buyer, primary, spare, pay, readStatus } = pair;
const payments = () => world.running.payments;

const readyz = async () => (await world.ask('GET', '/readyz')).body;
const NOBODY_LEFT_OUT = { payments: 'open', providers: [{ left_out: null }, { left_out: null }] };

/** Mines blocks two seconds apart, as on Base. */
async function mine(blocks: number): Promise<void> {
  await world.chain.rpc.call('anvil_mine', [`0x${blocks.toString(16)}`, '0x2']);
  await pair.catchUp();
  await payments().watch.check();
}
const finalize = (): Promise<void> => mine(FINALITY_BLOCKS + 2);

async function expectDelivered(paid: PaidGoods): Promise<void> {
  await payments().reconcileOnce();
  expect(await readStatus(paid)).toBe('completed');
  const answer = await world.buy(paid.id, { key: buyer.key });
  expect([answer.status, answer.body['artifact']]).toEqual([200, paid.artifact]);
}

it.each([
  ['first', primary],
  ['second', spare],
])('the %s takes few blocks: nobody is left out, and the goods are delivered', async (_, capped) => {
  capped.capLogs(5);
  const paid = await pay();
  for (let n = 0; n < 8; n += 1) {
    await mine(10);
    await payments().reconcileOnce();
  }
  await finalize();
  await expectDelivered(paid);
  expect(await readyz()).toMatchObject(NOBODY_LEFT_OUT);
  expect(payments().withheld.counts()).toEqual({ silent: 0, behind: 0, disagrees: 0, use_without_transfer: 0 });
});

it('the first shows no logs at all: it is said so, and after a minute the second leads', async () => {
  const paid = await pay();
  const metrics = createMetrics({ worker: '1', withProcess: false });
  metrics.observeChain(() => chainFacts(payments(), pair.clock));
  await finalize();
  primary.capLogs(0);
  await payments().reconcileOnce();
  expect(await readStatus(paid)).toBe('payment_pending');
  expect(await readyz()).toMatchObject({
    status: 'ready',
    payments: 'halted',
    why: 'logs_unreadable',
    payments_unreadable: 1,
    providers: [{ left_out: null }, { left_out: null }],
  });
  expect((await metrics.text()).body).toContain('openaisle_payments_unreadable{worker="1"} 1');
  for (let n = 0; n < 5; n += 1) {
    await mine(10);
    await payments().reconcileOnce();
  }
  expect(await readStatus(paid)).toBe('completed');
  expect(await readyz()).toMatchObject({
    payments: 'open',
    payments_unreadable: 0,
    providers: [{ left_out: 'mute' }, { left_out: null }],
  });
});

it('the first shows receipts and no logs: direct claims that it bears out do not let it lead again', async () => {
  const before = await pay();
  await finalize();
  await expectDelivered(before);
  expect(await readyz()).toMatchObject(NOBODY_LEFT_OUT);

  const claims: { id: bigint; direct: DirectPurchase }[] = [];
  for (let n = 0; n < 6; n += 1) {
    const { id } = await pair.goods();
    const payer = await pair.wallet(PRICE, GAS_WEI);
    claims.push({ id, direct: await payDirectly(world, { buyer, listingId: id, payer, units: PRICE }) });
  }
  const paid = await pay();
  await finalize();
  primary.capLogs(0);
  const stands: unknown[] = [];
  for (const [at, { id, direct }] of claims.entries()) {
    if (at > 0) {
      pair.advance(20_500);
      await mine(1);
    }
    // Both providers show the receipt, so the claim is decided whichever of them leads.
    expect((await claim(world, buyer, id, direct)).status).toBe(200);
    await payments().reconcileOnce();
    stands.push(await readStatus(paid));
  }
  // The fourth reading comes a minute after the first. From the fifth on, the second provider leads.
  expect(stands.slice(0, 3)).toEqual(Array(3).fill('payment_pending'));
  expect(stands.slice(4)).toEqual(['completed', 'completed']);
  expect(await readyz()).toMatchObject({ payments: 'open', providers: [{ left_out: 'mute' }, { left_out: null }] });
});
