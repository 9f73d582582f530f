import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { OfferPhase } from '../../src/contract/world-records.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts';
import { citySale, type OpenedOffer, type Person, PRICE, type ReservationOut } from './city-sale.ts';

const FINALITY_BLOCKS = 1_200;
const WINDOW_SECONDS = 300;
/** Descending, because a provider that refused a span is not asked for a wider one for five minutes. */
const CAPS = [1_000, 100, 10, 5, 1];

const proxies = [await startRpcProxy(), await startRpcProxy()] as const;
// Registered before the sale, because hooks registered last run first.
afterAll(() => Promise.all(proxies.map((proxy) => proxy.close())));
const sale = citySale({
  finalityBlocks: FINALITY_BLOCKS,
  rpcUrls: (chain) => [proxies[0].at(chain), proxies[1].at(chain)],
});
afterEach(() => {
  for (const proxy of proxies) proxy.heal();
});

interface Reserved {
  offer: OpenedOffer;
  buyer: Person;
  reservation: ReservationOut;
}

async function reserve(): Promise<Reserved> {
  const [offer, buyer] = [await sale.offer(), await sale.person()];
  return { offer, buyer, reservation: await sale.reserve(offer, buyer) };
}
/** Mines in small batches, because the node is slow when one call mines many blocks. */
async function mine(blocks: number): Promise<void> {
  for (let left = blocks; left > 0; left -= 200) await sale.chain.mine(Math.min(left, 200));
  await sale.mineAt((await sale.time()) + 1);
}
/** Reconciles until the phase changes, one block between readings. */
async function untilOver({ offer, buyer }: Reserved): Promise<{ phase: OfferPhase; readings: number }> {
  for (let readings = 1; readings < 20; readings += 1) {
    const { phase } = await sale.reconcile(offer, buyer);
    if (phase !== 'reserved') return { phase, readings };
    await sale.mineAt((await sale.time()) + 20);
  }
  throw new Error('the offer stays reserved');
}
const logsOf = (proxy: RpcProxy): number => proxy.calls('eth_getLogs');
const leftOut = () => sale.city.providerHealth.all.map((health) => health.exclusionReason(0n));
const pay = ({ offer, buyer }: Reserved) =>
  sale.pay({ from: buyer.wallet, to: offer.seller.wallet.address, units: PRICE });
const claim = async ({ offer, buyer, reservation }: Reserved, txHash: Hex) =>
  (await sale.claim(offer, buyer, txHash, reservation.challenge)).body.offer.phase;
const claimed: { one: Reserved; txHash: Hex }[] = [];

describe.each(CAPS)('with providers that take %i blocks in one log query', (most) => {
  it('a thing that nobody paid for is let go, and one that was paid for is not', async () => {
    for (const proxy of proxies) proxy.capLogs(most);
    const [unpaid, paid, one] = [await reserve(), await reserve(), await reserve()];
    await pay(paid);
    const txHash = await pay(one);
    expect(await claim(one, txHash)).toBe('payment_pending');
    claimed.push({ one, txHash });
    // There is one block per second.
    await mine(WINDOW_SECONDS);
    const before = proxies.map(logsOf);
    const over = [await untilOver(unpaid), await untilOver(paid)];
    expect(over.map(({ phase }) => phase)).toEqual(['listed', 'payment_pending']);
    const queries = proxies.map((proxy, at) => logsOf(proxy) - (before[at] ?? 0));
    const readings = over.map((end) => end.readings);
    console.error(`cap ${most}: ${readings} readings, ${queries} log queries of each provider`);
    // Each reading covers the windows of only two offers, and always their newest blocks.
    for (const count of queries) expect(count).toBeLessThanOrEqual((6 * WINDOW_SECONDS) / most + 100);
    expect(leftOut()).toEqual([null, null]);
  });
});

it('things are sold when their payment is final, by providers that take one block', async () => {
  for (const proxy of proxies) proxy.capLogs(1);
  await mine(FINALITY_BLOCKS);
  for (const { one, txHash } of claimed) expect(await claim(one, txHash)).toBe('claimed');
  expect(claimed).toHaveLength(CAPS.length);
});
