import { afterAll, expect } from 'vitest';
import { resetWatermark, resumePayments } from '../../src/market/payments/chain/commands.ts';
import { readBlock } from '../../src/platform/chain/reads.ts';
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts';
import { type Trade, testTrade } from '../support/trade.ts';
import { type MoneyWatch, watchMoney } from './watch-money.ts';

/** Large enough that the blocks of one test alone make nothing final. */
export const FINALITY_BLOCKS = 24;

/** A market with every provider behind a proxy, and the operator's commands. */
export interface ProviderStage {
  trade: Trade;
  proxies: readonly RpcProxy[];
  money: MoneyWatch;
  /** Checks all providers, then all open payments. */
  pass(): Promise<void>;
  /** Makes everything mined so far final. */
  finalize(): Promise<void>;
  /** Makes all providers honest and lets the market notice. Returns the commands that the operator had to run. */
  heal(): Promise<string[]>;
}

export async function providerStage(providers: number): Promise<ProviderStage> {
  const [primary, ...others] = [await startRpcProxy(), ...(await startOthers(providers - 1))];
  const proxies = [primary, ...others];
  // Registered before the world, because hooks registered last run first.
  afterAll(() => Promise.all(proxies.map((proxy) => proxy.close())));
  const trade = testTrade({
    chain: { finalityBlocks: FINALITY_BLOCKS },
    limits: { guard_runs_per_merchant_day: 1_000_000, open_fee_attempts_per_merchant: 1_000 },
    rpcUrl: (chain) => [primary.at(chain), ...others.map((proxy) => proxy.at(chain))],
  });
  const { world } = trade;
  const payments = () => world.running.payments;
  return {
    trade,
    proxies,
    money: watchMoney(world),
    pass: async () => {
      await payments().watch.check();
      await payments().reconcileOnce();
    },
    finalize: () => world.chain.mine(FINALITY_BLOCKS + 2),
    heal: async () => {
      for (const proxy of proxies) proxy.heal();
      await payments().watch.check();
      const given: string[] = [];
      for (const command of [resume, reset]) {
        const name = await command(trade);
        if (name === null) continue;
        given.push(name);
        await payments().watch.check();
      }
      expect(trade.world.running.payments.watch.head()).toMatchObject({ why: null });
      return given;
    },
  };
}

async function startOthers(count: number): Promise<RpcProxy[]> {
  return await Promise.all(Array.from({ length: count }, () => startRpcProxy()));
}

/** Returns why payments are halted. Null if they are not. */
const standstill = ({ world }: Trade): string | null => world.running.payments.watch.head()?.why ?? null;

async function resume(trade: Trade): Promise<string | null> {
  if (standstill(trade) !== 'finalized_conflict') return null;
  await resumePayments(trade.world.running.market, 'a provider showed another chain; it is back');
  return 'resume';
}

async function reset(trade: Trade): Promise<string | null> {
  if (standstill(trade) !== 'watermark_contradicted') return null;
  const final = await readBlock(trade.world.chain.rpc, 'finalized');
  if (final === null) throw new Error('no final block');
  await resetWatermark(trade.world.running.market, final, 'a provider called another block final');
  return 'reset_watermark';
}
