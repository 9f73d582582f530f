import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import { mustNotBePaid } from '../../src/market/payments/payment-guards.ts';
import { createRpc } from '../../src/platform/chain/rpc.ts';
import { addressTopic } from '../../src/platform/chain/usdc.ts';
import type { Refusal } from '../../src/platform/refusal.ts';
import { claim, type DirectPurchase, payDirectly, transfer } from '../support/direct.ts';
import { latestNumber, type SignedProof, signProof } from '../support/market-world.ts';
import { type PaidGoods, type PairTrade, tradeOnPair } from '../support/rpc-pair.ts';
import type { RpcProxy, Twist } from '../support/rpc-proxy.ts';
import { FEE_TERMS, fundedWallet, GAS_WEI, type Goods, listGoods, newGoods, PRICE } from '../support/trade.ts';

/** Base's finalized head is sometimes this far behind. */
const FINALITY_BLOCKS = 1_200;
/** Block time of Base. */
const BLOCK_SECONDS = 2;
/** Blocks mined per call, because the node is slow when one call mines many. */
const BLOCKS_A_CALL = 200;
/** Largest log query of various provider plans, in blocks. */
const CAPS = [1_000, 100, 10, 5, 1];
const NONCE_STATE = '0xe94a0102';
const NOBODY_LEFT_OUT = { payments: 'open', providers: [{ left_out: null }, { left_out: null }] };

interface Traffic {
  calls: number;
  logs: number;
  requests: number;
}
const trafficOf = (proxy: RpcProxy): Traffic => ({
  calls: proxy.calls(),
  logs: proxy.calls('eth_getLogs'),
  requests: proxy.requests(),
});

/** Hides this payer's log entries and shows its authorization as unused. */
const hide =
  ({ authorization }: SignedProof): Twist =>
  (result, { method, params }) => {
    const query = JSON.stringify(params[0] ?? '');
    if (method === 'eth_getLogs' && query.includes(addressTopic(authorization.from).slice(2))) return [];
    const isState =
      method === 'eth_call' && query.includes(NONCE_STATE) && query.includes(authorization.nonce.slice(2));
    return isState ? `0x${'0'.repeat(64)}` : result;
  };

/** Returns operations on a market whose two providers limit log queries to `most` blocks. */
function actsOn(pair: PairTrade, most: number) {
  const { world, buyer, primary, spare } = pair;
  return {
    reconcileOnce: () => world.running.payments.reconcileOnce(),
    cap: (): void => {
      for (const proxy of [primary, spare]) proxy.capLogs(most);
    },
    readyz: async () => (await world.ask('GET', '/readyz')).body,
    mine: async (blocks: number): Promise<void> => {
      for (let left = blocks; left > 0; left -= BLOCKS_A_CALL) {
        const count = Math.min(left, BLOCKS_A_CALL);
        await world.chain.rpc.call('anvil_mine', [`0x${count.toString(16)}`, `0x${BLOCK_SECONDS.toString(16)}`]);
      }
      await pair.catchUp();
      await world.running.payments.watch.check();
    },
    /** Buys and settles, but hides the settlement from the market. */
    payUnseen: async (): Promise<Goods & { proof: SignedProof }> => {
      await pair.catchUp();
      const goods = await pair.goods();
      const proof = await signProof(world.chain, await pair.wallet(), { ...goods.terms, secondsAhead: 60 });
      for (const proxy of [primary, spare]) proxy.twist(hide(proof));
      const { body } = await world.buy(goods.id, { key: buyer.key, proof: proof.v2 });
      expect(body['reason']).toBe('settlement_pending');
      return { ...goods, proof };
    },
    statusOf: async ({ proof }: { proof: SignedProof }) => (await pair.statusOf(proof))['payment_status'],
    report: (what: string, before: Traffic): Traffic => {
      const now = trafficOf(primary);
      const [calls, logs, requests] = [
        now.calls - before.calls,
        now.logs - before.logs,
        now.requests - before.requests,
      ];
      console.error(`cap ${most}, ${what}: ${requests} requests, ${calls} calls, ${logs} of them for logs`);
      return { calls, logs, requests };
    },
  };
}

describe.each(CAPS)('with providers that take %i blocks in one log query', async (most) => {
  const pair = await tradeOnPair({ chain: { finalityBlocks: FINALITY_BLOCKS } });
  const { world, buyer, primary, spare } = pair;
  const { cap, mine, payUnseen, reconcileOnce, readyz, report, statusOf } = actsOn(pair, most);
  // The market starts with this limit.
  cap();

  it('the start names the provider, what it takes and what finality needs', () => {
    const warned = world.logLines.filter(({ event }) => event === 'log_span_short');
    const lines = warned.map(({ level, fields }) => [level, fields['endpoint'], fields['blocks_needed']]);
    const endpoints = [primary, spare].map(({ url }) => new URL(url).origin);
    expect(lines.toSorted()).toEqual(endpoints.toSorted().map((endpoint) => ['warn', endpoint, FINALITY_BLOCKS + 1]));
    for (const { fields } of warned) {
      expect(Number(fields['blocks_taken'])).toBeLessThanOrEqual(most);
      expect(2 * Number(fields['blocks_taken'])).toBeGreaterThanOrEqual(most);
    }
  });

  it('a use far below the head is found, and each block read about once', async () => {
    cap();
    const deep = await payUnseen();
    await mine(400);
    for (const proxy of [primary, spare]) proxy.twist(null);
    const before = trafficOf(primary);
    let readings = 0;
    while ((await pair.statusOf(deep.proof))['stage'] !== 'mined' && readings < 20) {
      await reconcileOnce();
      readings += 1;
    }
    expect((await pair.statusOf(deep.proof))['stage']).toBe('mined');
    const { logs } = report(`a use 400 blocks below the head, ${readings} readings`, before);
    // Each query spans between half the limit and the limit, and every reading includes the newest 32 blocks.
    expect(logs).toBeLessThanOrEqual((2 * (400 + 32 * readings)) / most + 20);
  });

  let paid: PaidGoods;
  let direct: { id: bigint; artifact: string; named: DirectPurchase };
  const fee = newGoods();
  it('a purchase, a claim and a fee are seen with a handful of queries', async () => {
    cap();
    const before = trafficOf(primary);
    paid = await pair.pay();
    for (let n = 0; n < 5; n += 1) await reconcileOnce();
    expect(report('a purchase until it is mined, and five passes', before).logs).toBeLessThanOrEqual(20);
    await mine(10);
    const goods = await pair.goods();
    const payer = await pair.wallet(PRICE, GAS_WEI);
    const named = await payDirectly(world, { buyer, listingId: goods.id, payer, units: PRICE });
    direct = { ...goods, named };
    expect((await claim(world, buyer, goods.id, named)).status).toBe(202);
    await pair.catchUp();
    const proof = await signProof(world.chain, await fundedWallet(world), { ...FEE_TERMS, now: pair.clock.now() });
    const listed = await listGoods(world, pair.seller, fee, { proof: proof.v2 });
    expect([listed.status, listed.body['status']]).toEqual([202, 'payment_pending']);
  });

  it('they are delivered when they are final', async () => {
    cap();
    const lapsing = await payUnseen();
    const start = trafficOf(primary);
    await mine(FINALITY_BLOCKS + 2);
    const stands: unknown[] = [];
    for (let n = 0; stands.at(-1) !== 'unpaid' && n < 40; n += 1) {
      await reconcileOnce();
      stands.push(await statusOf(lapsing));
      expect(await readyz()).toMatchObject(NOBODY_LEFT_OUT);
      // Mine ten seconds at a time, because a provider without an answer about payments for a minute would be left out.
      await mine(5);
    }
    const { logs } = report(`four ends and an authorization that ran out, ${stands.length} readings`, start);
    const delivered = await claim(world, buyer, direct.id, direct.named);
    expect([delivered.status, delivered.body['artifact']]).toEqual([200, direct.artifact]);
    const bought = await world.buy(paid.id, { key: buyer.key });
    expect([bought.status, bought.body['artifact']]).toEqual([200, paid.artifact]);
    expect((await listGoods(world, pair.seller, fee)).body['listing']).toMatchObject({ title: fee.title });
    // The market gives up the payment only after it has read all blocks that could use the authorization, which are more than finality
    // needs.
    expect(stands.at(-1)).toBe('unpaid');
    expect(logs).toBeGreaterThanOrEqual(FINALITY_BLOCKS / most);
    expect(logs).toBeLessThanOrEqual((2 * (1_300 + 32 * stands.length)) / most + 40);
  });

  it('after a recovery a lost transfer is found, and no window called empty that was read in part', async () => {
    cap();
    const from = (await latestNumber(world.chain)) + 1n;
    const payer = await pair.wallet(PRICE, GAS_WEI);
    const payee = (await pair.wallet(0n)).address;
    const hash = await transfer(world, payer, payee, PRICE);
    await mine(600);
    const to = await latestNumber(world.chain);
    await world.db.database.run(sql`
      insert into recoveries (chain_id, from_block, to_block, reason, kept_event_id, event_id, found, at)
      values (8453, ${from}, ${to}, 'a test', 0, 1, '{}', ${new Date(pair.clock.now())})`);
    const market = { ...world.running.market, hasRecentRecovery: () => true };
    // Create a new client, so that this process knows nothing about the provider yet.
    const rpc = createRpc({ url: primary.url });
    const readHead = async () => ({ ...(await world.running.payments.readHead()), rpc });
    const look = async (): Promise<unknown> => {
      const opening = { payer: payer.address, payee, valueUnits: PRICE, payAnew: false };
      return await mustNotBePaid(market, readHead, opening).catch(({ reason, options }: Refusal) => ({
        reason,
        ...options,
      }));
    };
    const before = trafficOf(primary);
    const said: unknown[] = [];
    do said.push(await look());
    while (said.length < 20 && (said.at(-1) as Refusal).reason === 'payment_check_unavailable');
    expect(said.at(-1)).toMatchObject({ reason: 'payment_may_be_lost', fields: { tx_hash: hash } });
    expect(said.slice(0, -1).every((one) => (one as { doNotPayAgain?: boolean }).doNotPayAgain)).toBe(true);
    report(`a window of ${to - from + 1n} blocks, ${said.length} readings`, before);
  });
});
