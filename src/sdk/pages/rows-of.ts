import type { Page } from './walk-pages.ts';

/** The rows of a walk, one by one. */
export async function* rowsOf<Row>(pages: AsyncIterable<Page<Row>>): AsyncGenerator<Row, void, undefined> {
  for await (const page of pages) yield* page.rows;
}
