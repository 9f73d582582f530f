import { type TestAccount, testAccount, USDC_ADDRESS } from '../../src/local/chain/accounts.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { audit } from '../audit/audit.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startTestFacilitator } from '../support/facilitator.ts';
import { joinMarket, type Member, worldConfig } from '../support/market-world.ts';
import { hostHere, type MarketHost, type OpenHost } from './market-host.ts';
import { type ModelChain, sellerOfModel, startModelChain } from './model-chain.ts';
import { openProviderPair } from './provider-pair.ts';
import type { View } from './terms.ts';

const WALLETS = 30;
const BUYERS = 12;
/** Distance of the market's clock behind the latest block's time in milliseconds, so that it never runs ahead. */
const BEHIND_MS = 500;
/** Faults that the auditor rightly reports, because runs insert their listings without a fee or an event. */
const SEEDED = ['a listing without a fee', 'no event tells of this: maintainer_seed'];

/** Real chain, token, facilitator, database and market for all runs of a file. Time follows the chain. */
export interface Stage extends Omit<ModelChain, 'view'> {
  db: TestDatabase;
  market: MarketHost;
  keeper: Member;
  buyers: readonly Member[];
  wallets: readonly TestAccount[];
  seller: TestAccount;
  /** Returns the transfers since that block and the failed ones among `sent`, and sets the market's clock. */
  view(fromBlock: number | null, sent: readonly string[]): Promise<View>;
  now(): number;
  /** Cuts one provider for so long that the market stops waiting for it. */
  cutProvider(nth: 0 | 1): Promise<void>;
  mendProviders(): Promise<void>;
  tend(): Promise<void>;
  join(handle: string): Promise<Member>;
  /** Returns the differences between books and chain, as sentences. */
  audit(): Promise<string[]>;
  tally: Map<string, number>;
  stop(): Promise<void>;
}

export async function openStage(openHost: OpenHost = hostHere): Promise<Stage> {
  const db = await createTestDatabase();
  const wallets = Array.from({ length: WALLETS }, (_, n) => testAccount(`model wallet ${n}`));
  const model = await startModelChain([...wallets, sellerOfModel].map(({ address }) => address));
  const { chain } = model;
  const time = createFacilitatorClock();
  const facilitator = await startTestFacilitator(chain, {
    clock: time.clock,
    timing: { tendMs: TEND_MS, receiptPollMs: POLL_MS },
  });
  const providers = await openProviderPair(chain.port);
  const config = worldConfig({
    databaseUrl: db.url,
    rpcUrl: providers.urls,
    facilitatorUrl: facilitator.url,
    limits: { guard_runs_per_merchant_day: 1_000_000, open_fee_attempts_per_merchant: 1_000 },
  });
  const keeper = await joinMarket(db, 'the-keeper');
  const buyers: Member[] = [];
  for (let n = 0; n < BUYERS; n += 1) buyers.push(await joinMarket(db, `model-buyer-${n}`));
  let now = timeOf(await model.view(null, []));
  const market = await openHost(config, now);
  const view: Stage['view'] = async (fromBlock, sent) => {
    const seen = await model.view(fromBlock, sent);
    if (timeOf(seen) > now) {
      now = timeOf(seen);
      await market.setNow(now);
    }
    return seen;
  };
  const follow = async (): Promise<void> => void (await view(null, []));
  return {
    ...model,
    db,
    market,
    keeper,
    buyers,
    wallets,
    seller: sellerOfModel,
    view,
    now: () => now,
    cutProvider: (nth) => providers.cut(nth, { market, chain: model, follow }),
    mendProviders: () => providers.mend(market),
    tend: time.tend,
    join: (handle) => joinMarket(db, handle),
    audit: () => auditStage(db, chain.url),
    tally: new Map(),
    stop: async () => {
      await market.stop();
      await facilitator.close();
      await providers.close();
      await chain.stop();
      await db.drop();
    },
  };
}

const timeOf = ({ latest }: View): number => latest.time * 1000 + BEHIND_MS;

async function auditStage(db: TestDatabase, rpcUrl: string): Promise<string[]> {
  const { faults } = await audit({ databaseUrl: db.url, rpcUrl, token: USDC_ADDRESS, quiet: true });
  return faults.filter((fault) => !SEEDED.some((rule) => fault.startsWith(rule)));
}

/** Interval of the facilitator's own checks, so long that only the test triggers them. */
const TEND_MS = 79_000_000;
const POLL_MS = 2;
/** Factor by which polls for a receipt that will not come are faster, so that a dropped transaction costs no seconds. */
const HASTE = 200;
const PAST_ANSWER_MS = 10_000;

interface FacilitatorClock {
  clock: Clock;
  /** Makes the facilitator check all its transactions once. */
  tend(): Promise<void>;
}

function createFacilitatorClock(): FacilitatorClock {
  let aheadMs = 0;
  let idle = Promise.withResolvers<() => void>();
  return {
    clock: {
      now: () => systemClock.now() + aheadMs,
      sleep: async (ms, signal) => {
        if (ms !== TEND_MS) {
          if (ms <= POLL_MS) aheadMs += HASTE * ms;
          return await systemClock.sleep(ms, signal);
        }
        await new Promise<void>((resolve) => {
          signal?.addEventListener('abort', () => resolve(), { once: true });
          idle.resolve(resolve);
        });
      },
    },
    tend: async () => {
      const goOn = await idle.promise;
      idle = Promise.withResolvers();
      aheadMs += PAST_ANSWER_MS;
      goOn();
      await idle.promise;
    },
  };
}
