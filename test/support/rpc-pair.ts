import { afterAll, afterEach } from 'vitest';
import { readBlock } from '../../src/platform/chain/reads.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { type Hex, isHex } from '../../src/platform/hex.ts';
import { type SignedProof, signProof, type WorldOptions } from './market-world.ts';
import { type RpcProxy, startRpcProxy } from './rpc-proxy.ts';
import { type Goods, type Trade, testTrade } from './trade.ts';

/** Goods paid by x402 in a block that is not final. */
export interface PaidGoods extends Goods {
  proof: SignedProof;
  txHash: Hex;
  block: bigint;
}

/** A market with two providers, each behind a proxy. The second is the spare. */
export interface PairTrade extends Trade {
  primary: RpcProxy;
  spare: RpcProxy;
  clock: Clock;
  advance(ms: number): void;
  /** Lets that many seconds pass, checking everything now and then. */
  idle(seconds: number): Promise<void>;
  /** Moves the chain to about 15 seconds before the market's time, because no payment opens on a stalled chain. */
  catchUp(): Promise<void>;
  pay(): Promise<PaidGoods>;
  /** Makes all providers honest and lets the market notice. */
  heal(): Promise<void>;
  /** Checks all providers, then all open payments. */
  pass(): Promise<void>;
  /** Returns the public status of that payment. */
  readStatus(paid: PaidGoods): Promise<unknown>;
}

/** Upper bound for the seconds (one block each) that a payment needs to become final. */
const BEHIND_SECONDS = 15;

export async function tradeOnPair(options: Omit<WorldOptions, 'rpcUrl' | 'clock'> = {}): Promise<PairTrade> {
  const [primary, spare] = [await startRpcProxy(), await startRpcProxy()];
  let aheadMs = 0;
  const clock: Clock = { now: () => systemClock.now() + aheadMs, sleep: systemClock.sleep };
  // Registered before the world, because hooks registered last run first.
  afterAll(() => Promise.all([primary.close(), spare.close()]));
  const trade = testTrade({
    // Tests run the background jobs themselves, because a scheduled job would sometimes have the lock.
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
    // Blocks are one second apart. Mining many at once would move the chain ahead of the clock, and the market distrusts such blocks.
    if (behind < BEHIND_SECONDS) aheadMs += (BEHIND_SECONDS - behind) * 1_000;
    if (behind < 20) return;
    await world.chain.rpc.call('evm_increaseTime', [behind - BEHIND_SECONDS]);
    await world.chain.mine(1);
    // Without this check, one provider's reading would be a minute older than the other's.
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
    readStatus: async ({ proof }) => (await trade.statusOf(proof))['payment_status'],
  };
}
