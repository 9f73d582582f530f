import { fund } from '../../src/local/chain/transactions.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { type Person, type Sites, startSites, type Thing } from '../world/thing-stage.ts';
import { createModelTime, type ModelTime, readView, STRAY } from './chain.ts';
import type { Transfer, View } from './terms.ts';

/** Registering people is slow, so these few are reused. */
const SELLERS = 3;
const BUYERS = 6;
const PLENTY = 10n ** 13n;
const WEI = 10n ** 24n;
const MANY = 1_000_000;
const POLL_MS = 5;
/** Finality in blocks of all test worlds. */
export const FINALITY_BLOCKS = 4;

/** Real sites, databases, chain and the connections between them, for all runs of a file. */
export interface Stage {
  sites: Sites;
  time: ModelTime;
  sellers: readonly Person[];
  buyers: readonly Person[];
  /** Creates a thing of the seller and lists it for PRICE. */
  list(seller: Person): Promise<Thing>;
  /** Returns the chain since that block, and sets the clock of both sites. */
  view(fromBlock: number | null): Promise<View>;
  /** Resolves after the new city's first sweep, so that no later work starts on its own. */
  restartCity(): Promise<void>;
  /** Transfers of earlier runs: the last one, and the last that bought something. */
  past: { paid: Transfer | null; sold: Transfer | null };
  /** The thing that each transaction bought. */
  sold: Map<string, number>;
  tally: Map<string, number>;
  stop(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const time = createModelTime();
  const perHour = { reservations_per_resident_hour: MANY, claims_per_resident_hour: MANY };
  const cityLimits = { ...perHour, reconciles_per_resident_hour: MANY, things_per_resident_day: MANY };
  const sites = await startSites({ time, cityLimits });
  const { chain } = sites.market;
  const sellers = await makePersons(sites, 'seller', SELLERS);
  const buyers = await makePersons(sites, 'buyer', BUYERS);
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

async function makePersons(sites: Sites, name: string, count: number): Promise<Person[]> {
  const persons: Person[] = [];
  for (let n = 0; n < count; n += 1) persons.push(await sites.person(name));
  return persons;
}

/** Waits for a city's first sweep, which starts on its own. A requested sweep runs after it. */
async function untilSwept({ city }: Sites): Promise<void> {
  while (!city.running.sweep.isLeader()) await systemClock.sleep(POLL_MS);
  await city.running.sweep.sweepOnce();
}
