import { fund } from '../../src/local/chain/transactions.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { type Person, type Sites, startSites, type Thing } from '../world/thing-stage.ts';
import { createModelTime, type ModelTime, readView, STRAY } from './chain.ts';
import type { Transfer, View } from './terms.ts';

/** Persons are expensive, so that they come again. */
const SELLERS = 3;
const BUYERS = 6;
const PLENTY = 10n ** 13n;
const WEI = 10n ** 24n;
const MANY = 1_000_000;
const POLL_MS = 5;
/** Of the chain of all test worlds. */
export const FINALITY_BLOCKS = 4;

/** Both sites, both databases, the chain and the wires between them, for all runs of a file: all real. */
export interface Stage {
  sites: Sites;
  time: ModelTime;
  sellers: readonly Person[];
  buyers: readonly Person[];
  /** A thing of the seller, listed on the market for PRICE. */
  list(seller: Person): Promise<Thing>;
  /** What the chain shows since that block; the clock of both sites is set by it. */
  view(fromBlock: number | null): Promise<View>;
  /** Resolves when the new city has looked at everything once, so that nothing happens by itself any more. */
  restartCity(): Promise<void>;
  /** Transfers of earlier runs: the last of all, and the last that bought something. */
  past: { paid: Transfer | null; sold: Transfer | null };
  /** What was bought by each transaction. */
  sold: Map<string, number>;
  /** How often each answer was given. */
  tally: Map<string, number>;
  stop(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const time = createModelTime();
  const perHour = { reservations_per_resident_hour: MANY, claims_per_resident_hour: MANY };
  const cityLimits = { ...perHour, reconciles_per_resident_hour: MANY, things_per_resident_day: MANY };
  const sites = await startSites({ time, cityLimits });
  const { chain } = sites.market;
  const sellers = await gather(sites, 'seller', SELLERS);
  const buyers = await gather(sites, 'buyer', BUYERS);
  await fund(
    chain,
    [...buyers.map(({ wallet }) => wallet), STRAY].map(({ address }) => ({ address, usdcUnits: PLENTY, wei: WEI })),
  );
  await chain.rpc.call('anvil_setBlockTimestampInterval', [1]);
  await chain.mine(2 * FINALITY_BLOCKS);
  const view: Stage['view'] = async (fromBlock) => {
    const seen = await readView(chain, fromBlock);
    time.follow(seen.latest.time);
    return seen;
  };
  await view(null);
  await untilSwept(sites);
  return {
    sites,
    time,
    sellers,
    buyers,
    list: sites.thing,
    view,
    restartCity: async () => {
      await sites.restartCity();
      await untilSwept(sites);
    },
    past: { paid: null, sold: null },
    sold: new Map(),
    tally: new Map(),
    stop: sites.stop,
  };
}

async function gather(sites: Sites, name: string, count: number): Promise<Person[]> {
  const persons: Person[] = [];
  for (let n = 0; n < count; n += 1) persons.push(await sites.person(name));
  return persons;
}

/** The first sweep of a city is made by itself; one that is asked for comes after it. */
async function untilSwept({ city }: Sites): Promise<void> {
  while (!city.running.sweep.isLeader()) await systemClock.sleep(POLL_MS);
  await city.running.sweep.sweepOnce();
}
