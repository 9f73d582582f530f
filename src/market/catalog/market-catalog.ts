import { createRate } from '../../platform/counter.ts';
import { type Cursors, createCursors } from '../../platform/cursor.ts';
import { type Answers, createAnswers } from './answers.ts';
import { type Catalog, type CatalogFacts, type CatalogOptions, createCatalog } from './catalog.ts';
import { MOST_PAGES_SHARE } from './feed/refresh-model.ts';
import type { Model } from './model/model.ts';

export interface MarketCatalog extends Catalog {
  answers: Answers;
  shelfCursors: Cursors;
  /** Counts a public read. The read rate decides how often the model is refreshed. */
  noteRead(): void;
  facts(): CatalogFacts & { pageBytes: number; pagesMade: number };
}

/** Above this read rate, refresh less often, because after each refresh all readers need new pages. */
const CROWDED = { perSecond: 1_000, overMs: 200 };

/** Finished answers get what listings and words leave of the budget, but at least this share and at most MOST_PAGES_SHARE. */
const LEAST_KEPT_SHARE = 0.1;
/** Share of the budget for gzipped listings (0.04) and for the slab that new listings are written to (1/64). */
const RESERVED_SHARE = 0.04 + 1 / 64;

export interface MarketCatalogOptions extends CatalogOptions {
  /** Shared by all processes of a market and secret to everyone else. */
  pepper: { hash(secret: string): Buffer; hashes(secret: string): readonly { hash: Buffer }[] };
}

export function createMarketCatalog(options: MarketCatalogOptions): MarketCatalog {
  const { clock, database, memoryBytes, pepper } = options;
  const keepBytes = (): number => roomForAnswers(memoryBytes, catalog.model());
  let reads = 0;
  const isCrowded = createRate({ clock, count: () => reads, ...CROWDED });
  const catalog = createCatalog({ ...options, isCrowded });
  const answers = createAnswers({ catalog, database, clock, keepBytes });
  // This text cannot equal a merchant's secret, which has another form.
  const purpose = 'key of the cursors of the shelves';
  const keys = pepper.hashes(purpose).map(({ hash }) => hash);
  // Listings may grow while no requests arrive, so trim the cached answers here too.
  const fresh = async (): Promise<void> => {
    await catalog.fresh();
    answers.trim();
  };
  const facts = () => ({
    ...catalog.facts(),
    pageBytes: answers.cache.bytes(),
    pagesMade: answers.pagesMade(),
  });
  const noteRead = (): void => {
    reads += 1;
  };
  return {
    ...catalog,
    fresh,
    facts,
    noteRead,
    answers,
    shelfCursors: createCursors([pepper.hash(purpose), ...keys], clock),
  };
}

/** Returns the bytes available for finished answers. They shrink as soon as listings need memory. */
export function roomForAnswers(memoryBytes: number, { fragments, text }: Pick<Model, 'fragments' | 'text'>): number {
  const { live, garbage } = fragments.bytes();
  const left = memoryBytes * (1 - RESERVED_SHARE) - live - garbage - text.bytes();
  return Math.floor(Math.min(memoryBytes * MOST_PAGES_SHARE, Math.max(memoryBytes * LEAST_KEPT_SHARE, left)));
}
