import { afterAll, afterEach } from 'vitest';
import { readBlock } from '../../src/platform/chain/reads.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { type Hex, isHex } from '../../src/platform/hex.ts';
import { type SignedProof, signProof, type WorldOptions } from './market-world.ts';
import { type RpcProxy, startRpcProxy } from './rpc-proxy.ts';
import { type Goods, type Trade, testTrade } from './trade.ts';

/** Paid by x402 and mined, not final. */
export interface PaidGoods extends Goods {
  proof: SignedProof;
  txHash: Hex;
  block: bigint;
}

/** A market with two providers, each behind a proxy; the second is the spare. */
export interface PairTrade extends Trade {
  primary: RpcProxy;
  spare: RpcProxy;
  clock: Clock;
  /** Moves the market's clock. */
  advance(ms: number): void;
  /** Lets so many seconds go by, with a look at everything now and then. */
  idle(seconds: number): Promise<void>;
  /** Brings the chain to the market's time: on one that stands still no payment opens. */
  catchUp(): Promise<void>;
  pay(): Promise<PaidGoods>;
  /** Makes all providers honest again, and lets the market see that. */
  heal(): Promise<void>;
  /** Looks at all providers, then at all open payments. */
  pass(): Promise<void>;
  /** How that payment stands, for anybody who asks. */
  stand(paid: PaidGoods): Promise<unknown>;
}

/** A payment and its finality are at most so many blocks. */
const BEHIND_SECONDS = 15;

export async function tradeOnPair(options: Omit<WorldOptions, 'rpcUrl' | 'clock'> = {}): Promise<PairTrade> {
  const [primary, spare] = [await startRpcProxy(), await startRpcProxy()];
  let aheadMs = 0;
  const clock: Clock = { now: () => systemClock.now() + aheadMs, sleep: systemClock.sleep };
  // Before the world registers its end, since what is registered last ends first.
  afterAll(() => Promise.all([primary.close(), spare.close()]));
  const trade = testTrade({
    // Passes are made by the test: one that runs by itself would hold the lock at times.
    reconcileEveryMs: 3_600_000,
    ...options,
    clock,
    rpcUrl: (chain) => {
      for (const proxy of [primary, spare]) proxy.leadTo(chain.url);
      return [primary.url, spare.url];
    },
  });
  const { world } = trade;
  const heal = async (): Promise<void> => {
    primary.heal();
    spare.heal();
    await world.running.payments.watch.check();
  };
  const pass = async (): Promise<void> => {
    await world.running.payments.watch.check();
    await world.running.payments.reconcileOnce();
  };
  afterEach(heal);
  const catchUp = async (): Promise<void> => {
    const latest = await readBlock(world.chain.rpc, 'latest');
    const behind = Math.floor(clock.now() / 1_000) - Number(latest?.timestamp ?? 0n);
    // A block is a second: many that are mined at once lead the chain ahead of the clock, and nothing on it would be believed.
    if (behind < BEHIND_SECONDS) aheadMs += (BEHIND_SECONDS - behind) * 1_000;
    if (behind < 20) return;
    await world.chain.rpc.call('evm_increaseTime', [behind - BEHIND_SECONDS]);
    await world.chain.mine(1);
    // Otherwise the provider that was read last would be a minute behind the one that is read next.
    await world.running.payments.watch.check();
  };
  return {
    ...trade,
    primary,
    spare,
    clock,
    advance: (ms) => {
      aheadMs += ms;
    },
    idle: async (seconds) => {
      for (let gone = 0; gone < seconds; gone += 20) {
        aheadMs += Math.min(20, seconds - gone) * 1_000;
        await pass();
      }
    },
    pay: async () => {
      await catchUp();
      const goods = await trade.goods();
      const proof = await signProof(world.chain, await trade.wallet(), goods.terms);
      const answer = await world.buy(goods.id, { key: trade.buyer.key, proof: proof.v2 });
      if (answer.status !== 202) throw new Error(`not paid: ${JSON.stringify(answer.body)}`);
      const { tx_hash: txHash, block_number: block } = await trade.statusOf(proof);
      if (!isHex(txHash, 32)) throw new Error('the transfer was not seen');
      return { ...goods, proof, txHash, block: BigInt(Number(block)) };
    },
    catchUp,
    heal,
    pass,
    stand: async ({ proof }) => (await trade.statusOf(proof))['payment_status'],
  };
}
