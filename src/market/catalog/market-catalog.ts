import { type Cursors, createCursors } from '../../platform/cursor.ts';
import type { Catalog, CatalogOptions } from './catalog.ts';
import { createCatalog } from './catalog.ts';
import { type Answers, createAnswers } from './serve/answers.ts';

export interface MarketCatalog extends Catalog {
  answers: Answers;
  /** Of walks along the shelves. */
  shelfCursors: Cursors;
}

/** Of the budget, what finished answers may take. */
const KEPT_SHARE = 0.04;

export interface MarketCatalogOptions extends CatalogOptions {
  /** What all processes of a market share and nobody else has. */
  pepper: { hash(secret: string): Buffer; hashes(secret: string): readonly { hash: Buffer }[] };
}

/** The catalog and the ways to answer from it. */
export function createMarketCatalog(options: MarketCatalogOptions): MarketCatalog {
  const { clock, database, memoryBytes, pepper } = options;
  const catalog = createCatalog(options);
  const answers = createAnswers({ catalog, database, clock, keepBytes: Math.floor(memoryBytes * KEPT_SHARE) });
  // No secret of a merchant has this text's form.
  const use = 'key of the cursors of the shelves';
  const kept = pepper.hashes(use).map(({ hash }) => hash);
  return { ...catalog, answers, shelfCursors: createCursors([pepper.hash(use), ...kept], clock) };
}
