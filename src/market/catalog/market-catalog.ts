import { createRate } from '../../platform/counter.ts';
import { type Cursors, createCursors } from '../../platform/cursor.ts';
import { type Answers, createAnswers } from './answers.ts';
import { type Catalog, type CatalogFacts, type CatalogOptions, createCatalog } from './catalog.ts';
import { MOST_PAGES_SHARE } from './feed/refresh-model.ts';
import type { Model } from './model/model.ts';

export interface MarketCatalog extends Catalog {
  answers: Answers;
  /** Of walks along the shelves. */
  shelfCursors: Cursors;
  /** Counts one read of the public, which decides how often the copy is refreshed. */
  noteRead(): void;
  facts(): CatalogFacts & { pageBytes: number; pagesMade: number };
}

/** From so many reads on the copy is refreshed less often: each refresh makes all of them look for another page. */
const CROWDED = { perSecond: 1_000, overMs: 200 };

/** Of the budget, what finished answers may take: what the listings and their words leave, but so much at least and at most. */
const LEAST_KEPT_SHARE = 0.1;
/** Of the budget, what is not theirs: listings in gzip, and the piece of memory that the next listings are written to. */
const OTHERS_SHARE = 0.04 + 1 / 64;

export interface MarketCatalogOptions extends CatalogOptions {
  /** All processes of a market share it; nothing outside the market has it. */
  pepper: { hash(secret: string): Buffer; hashes(secret: string): readonly { hash: Buffer }[] };
}

/** The catalog and the ways to answer from it. */
export function createMarketCatalog(options: MarketCatalogOptions): MarketCatalog {
  const { clock, database, memoryBytes, pepper } = options;
  const keepBytes = (): number => roomForAnswers(memoryBytes, catalog.model());
  let reads = 0;
  const isCrowded = createRate({ clock, count: () => reads, ...CROWDED });
  const catalog = createCatalog({ ...options, isCrowded });
  const answers = createAnswers({ catalog, database, clock, keepBytes });
  // No secret of a merchant has this text's form.
  const use = 'key of the cursors of the shelves';
  const kept = pepper.hashes(use).map(({ hash }) => hash);
  // The listings may also grow while no requests come, so the cached answers are trimmed here.
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
    shelfCursors: createCursors([pepper.hash(use), ...kept], clock),
  };
}

/** Finished answers make room as soon as listings need it. */
export function roomForAnswers(memoryBytes: number, { fragments, text }: Pick<Model, 'fragments' | 'text'>): number {
  const { live, garbage } = fragments.bytes();
  const left = memoryBytes * (1 - OTHERS_SHARE) - live - garbage - text.bytes();
  return Math.floor(Math.min(memoryBytes * MOST_PAGES_SHARE, Math.max(memoryBytes * LEAST_KEPT_SHARE, left)));
}
