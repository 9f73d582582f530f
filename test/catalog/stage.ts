import { createAnswers } from '../../src/market/catalog/answers.ts';
import type { TextFileOptions } from '../../src/market/catalog/feed/keep-text.ts';
import { createMarketCatalog, type MarketCatalog } from '../../src/market/catalog/market-catalog.ts';
import type { Model } from '../../src/market/catalog/model/model.ts';
import { createEventTail } from '../../src/market/events/read-events.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { createPepperFrom } from '../../src/platform/pepper.ts';
import { marketContext, type TestMarket } from '../support/market-context.ts';
import { recordingLog } from '../support/recording-log.ts';
import {
  editListing,
  pinListing,
  removeListing,
  restoreListing,
  seedFreePurchase,
  seedMerchant,
  seedPaidPurchase,
  seedStock,
  seedVote,
  withdrawListing,
} from '../support/seed.ts';
import { type Change, SELLERS } from './random-shelves.ts';

export const ROOMY_BYTES = 64 * 1_048_576;

/** Creates the catalog of another process: its own copy with the same secrets. It looks for changes only on request. */
export function processOn(
  database: Database,
  options: { memoryBytes?: number; clock?: Clock; textFile?: TextFileOptions } = {},
): TestMarket & ReturnType<typeof recordingLog> {
  const logged = recordingLog();
  const { log } = logged;
  const clock = options.clock ?? systemClock;
  const events = createEventTail();
  const catalog = createMarketCatalog({
    database,
    clock,
    log,
    pepper: createPepperFrom(new Map([[1, Buffer.alloc(32, 7)]])),
    memoryBytes: options.memoryBytes ?? ROOMY_BYTES,
    followers: [events],
    ...(options.textFile === undefined ? {} : { textFile: options.textFile }),
  });
  return { ...marketContext({ database, clock }), ...logged, catalog, events };
}

/** Creates a market over a model that does not follow on its own. `catalog` overrides parts. */
export function marketOf(
  database: Database,
  model: Model,
  options: { changed?: Partial<Pick<MarketCatalog, 'model' | 'fresh'>>; clock?: Clock } = {},
): TestMarket {
  const { changed = {}, clock = systemClock } = options;
  const market = processOn(database, { clock });
  const still = { model: () => model, fresh: async () => {}, searchable: async () => {} };
  const catalog = { ...market.catalog, ...still, ...changed };
  const answers = createAnswers({ catalog, database, clock, keepBytes: () => 1_000_000 });
  return { ...market, catalog: { ...catalog, answers } };
}

/** Sellers, voters and listings for random changes. */
export interface Stage {
  database: Database;
  sellers: readonly bigint[];
  voters: readonly bigint[];
  takers: Map<bigint, number>;
  /** Listings that can be restored. `pinned` holds those that can be unpinned. */
  removed: Set<bigint>;
  pinned: Set<bigint>;
}

export async function openStage(database: Database): Promise<Stage> {
  const sellers: bigint[] = [];
  for (const handle of SELLERS) sellers.push((await seedMerchant(database, { handle })).id);
  const voters: bigint[] = [];
  for (let count = 0; count < 6; count += 1) voters.push((await seedMerchant(database)).id);
  return { database, sellers, voters, takers: new Map(), removed: new Set(), pinned: new Set() };
}

/** Applies the change to one of these listings. Adds new listings to `ids`. */
export async function perform(stage: Stage, ids: bigint[], change: Change): Promise<void> {
  const { database, sellers, voters, takers } = stage;
  if (change.kind === 'merchant') {
    await seedMerchant(database);
    return;
  }
  if (change.kind === 'add') {
    ids.push(...(await seedStock(database, sellers[change.seller] ?? 0n, [change.goods])));
    return;
  }
  const { removed, pinned } = stage;
  const own = change.kind === 'restore' ? removed : change.kind === 'unpin' ? pinned : null;
  const among = own === null ? ids : ids.filter((id) => own.has(id));
  const id = among[change.which % among.length];
  if (id === undefined) return;
  if (change.kind === 'vote') await seedVote(database, id, voters[change.voter] ?? 0n);
  else if (change.kind === 'edit') await editListing(database, id, change.part);
  else if (change.kind === 'withdraw') await withdrawListing(database, id);
  else if (change.kind === 'remove') await removeListing(database, id);
  else if (change.kind === 'restore') await restoreListing(database, id);
  else if (change.kind === 'pin' || change.kind === 'unpin') await pinListing(database, id, change.kind === 'pin');
  else await sell(change.kind);
  if (change.kind === 'remove') removed.add(id);
  if (change.kind === 'pin') pinned.add(id);
  own?.delete(id);

  async function sell(kind: 'free sale' | 'paid sale'): Promise<void> {
    if (id === undefined) return;
    if (kind === 'paid sale') {
      await seedPaidPurchase(database, id).catch(ignoreFreeError);
      return;
    }
    const before = takers.get(id) ?? 0;
    const taker = voters[before];
    if (taker === undefined) return;
    takers.set(id, before + 1);
    await seedFreePurchase(database, id, taker);
  }
}

/** Ignores the error that free goods cannot be paid for, and rethrows others. */
function ignoreFreeError(error: unknown): void {
  if (error instanceof Error && error.message.includes('value_units')) return;
  throw error;
}
