import { openDatabase } from '../../src/platform/database/open-database.ts';
import { serveOrders } from '../child.ts';
import type { SqlPage } from './page-request.ts';
import { sqlPage } from './sql-page.ts';

/** Pages to build in turn, and the duration. */
export interface SqlOrder {
  url: string;
  pages: readonly SqlPage[];
  seconds: number;
}

export interface SqlAnswer {
  made: number;
  seconds: number;
  bytes: number;
}

/** The pool size of a web process, which is best on few cores. */
const CONNECTIONS = 16;

async function buildPages({ url, pages, seconds }: SqlOrder): Promise<SqlAnswer> {
  const database = await openDatabase({
    url,
    poolSize: CONNECTIONS,
    applicationName: 'openaisle-bench-sql',
    statementTimeoutMs: 0,
  });
  try {
    const begin = performance.now();
    const end = begin + seconds * 1_000;
    const answer = { made: 0, seconds: 0, bytes: 0 };
    let asked = 0;
    const run = async (): Promise<void> => {
      while (performance.now() < end) {
        const page = pages[asked % pages.length];
        asked += 1;
        if (page === undefined) throw new Error('no page to make');
        answer.bytes += Buffer.byteLength(await sqlPage(database, page));
        answer.made += 1;
      }
    };
    // Each page runs two queries at once.
    await Promise.all(Array.from({ length: CONNECTIONS / 2 }, run));
    return { ...answer, seconds: (performance.now() - begin) / 1_000 };
  } finally {
    await database.close();
  }
}

serveOrders(buildPages);
