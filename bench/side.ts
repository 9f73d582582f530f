import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import sql from 'sql-template-tag';
import { WORLD_ACCOUNTS } from '../src/local/chain/accounts.ts';
import type { LocalChain } from '../src/local/chain/start-chain.ts';
import { startServer } from '../src/local/server-process.ts';
import type { Database } from '../src/platform/database/database.ts';
import { openDatabase } from '../src/platform/database/open-database.ts';
import { systemRandom } from '../src/platform/random.ts';
import { freePort } from '../test/support/free-port.ts';
import { type Seeded, seed } from './seed.ts';
import { PAYERS } from './settings.ts';
import { createCpuLedger, diskBytes, named, type Spent, serverMs } from './spent.ts';
import type { Meters } from './start-meters.ts';
import { wideLimits } from './wide-limits.ts';
import { writePrivate } from './write-private.ts';

/** One version of the code with everything that it needs, and meters before its database and its chain. */
export interface Side {
  name: string;
  marketUrl: string;
  marketPid: number;
  seeded: Seeded;
  books: Database;
  logFiles: string[];
  spent(): Promise<Spent>;
}

export interface SideOptions {
  /** One word. It becomes part of the database's name. */
  name: string;
  root: string;
  folder: string;
  chain: LocalChain;
  meters: Meters;
  /** The server of all sides. Each has its own database. */
  postgresUrl: string;
  listings: number;
  /** Key that signs payment transactions. Two servers never share a key. */
  facilitatorKey: string;
  /** Variables added to the market's environment. */
  marketEnv?: Record<string, string>;
  facilitatorEnv?: Record<string, string>;
  begun: AsyncDisposableStack;
  signal: AbortSignal;
}

const BOOKKEEPER = 'openaisle-bench';

export async function startSide(options: SideOptions): Promise<Side> {
  const { name, chain, meters, root } = options;
  const folder = await mkdtemp(join(options.folder, `${name}-`));
  const database = await openBooks(options);
  const pepper = systemRandom.bytes(32);
  const seeded = await seed(database.books, { listings: options.listings, buyers: PAYERS, pepper });
  const pepperFile = await writePrivate(join(folder, 'pepper'), `1:${pepper.toString('hex')}\n`);
  const limits = await wideLimits(root);
  const [facilitatorRpc, marketRpc] = [
    await meters.stand(`${name} facilitator`, 'chain', chain.url),
    await meters.stand(`${name} market`, 'chain', chain.url),
  ];
  const facilitator = await startPart(options, folder, 'facilitator', async (port) => ({
    FACILITATOR_PORT: port,
    FACILITATOR_RPC_URL: facilitatorRpc,
    FACILITATOR_KEY_FILE: await writePrivate(join(folder, 'signer.key'), `${options.facilitatorKey}\n`),
    FACILITATOR_DATA_DIR: folder,
    FACILITATOR_LIMITS: limits.facilitator,
    // Gas on the local chain costs a hundred times the real price. Older code without these limits has no setting for it.
    ...(limits.facilitator === '{}' ? {} : { FACILITATOR_ETHER_USDC: '50' }),
    ...options.facilitatorEnv,
  }));
  const market = await startPart(options, folder, 'market', async (port) => ({
    DATABASE_URL: database.url,
    // This folder contains the copy of this database's log. Left in a checkout, it would make the next run report a lost history.
    OPENAISLE_DATA_DIR: folder,
    OPENAISLE_PORT: port,
    OPENAISLE_PEPPER_FILE: pepperFile,
    OPENAISLE_NETWORK: 'base',
    OPENAISLE_RPC_URLS: marketRpc,
    OPENAISLE_FACILITATOR_URL: facilitator.url,
    OPENAISLE_TREASURY: WORLD_ACCOUNTS.treasury.address,
    OPENAISLE_FINALITY_MIN_AGE_SECONDS: '0',
    OPENAISLE_LIMITS: limits.market,
    ...options.marketEnv,
  }));
  return {
    name,
    marketUrl: market.url,
    marketPid: market.pid,
    seeded,
    books: database.books,
    logFiles: [market.logFile, facilitator.logFile],
    spent: createSpent(name, { meters, books: database.books, market: market.pid, facilitator: facilitator.pid }),
  };
}

function createSpent(
  name: string,
  given: { meters: Meters; books: Database; market: number; facilitator: number },
): () => Promise<Spent> {
  const backendsMs = createCpuLedger();
  return async () => {
    const { books } = given;
    const backends = await books.rows<{ pid: number }>(
      sql`select pid from pg_stat_activity where datname = current_database() and application_name <> ${BOOKKEEPER}`,
    );
    // A transaction gets an id at its first write, so ids count the commits that reach the disk.
    const server = await books.one<{ commits: bigint; wal: bigint; size: bigint }>(sql`
      select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as commits,
        pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint as wal, pg_database_size(current_database()) as size`);
    const counts = await given.meters.counts();
    return {
      ...named('market', counts[`${name} market`] ?? {}),
      ...named('facilitator', counts[`${name} facilitator`] ?? {}),
      statements: counts[`${name} database`]?.['statements'] ?? 0,
      commits: Number(server.commits),
      walBytes: Number(server.wal),
      databaseBytes: Number(server.size),
      journalBytes: await diskBytes(given.facilitator),
      marketMs: await serverMs(given.market),
      facilitatorMs: await serverMs(given.facilitator),
      databaseMs: await backendsMs(backends.map(({ pid }) => pid)),
    };
  };
}

/** Creates this side's database with its own migrations. The market reaches it through a meter. */
async function openBooks({ name, root, postgresUrl, meters, begun }: SideOptions) {
  const direct = new URL(postgresUrl);
  const socket = direct.searchParams.get('host');
  if (socket === null) throw new Error('the embedded PostgreSQL is not on a socket');
  const at = await meters.stand(`${name} database`, 'database', join(socket, `.s.PGSQL.${direct.port}`));
  const database = `bench_${name}`;
  const admin = await openDatabase({ url: postgresUrl, poolSize: 1, applicationName: 'bench' });
  await admin.run(sql([`create database ${database}`]));
  await admin.close();
  direct.pathname = `/${database}`;
  const { migrate } = (await import(pathToFileURL(join(root, 'src/platform/database/migrate.ts')).href)) as {
    migrate(url: string, folder: string): Promise<unknown>;
  };
  await migrate(direct.href, join(root, 'migrations/market'));
  const books = await openDatabase({ url: direct.href, poolSize: 2, applicationName: BOOKKEEPER });
  begun.defer(() => books.close());
  return { books, url: `postgres://${direct.username}:${direct.password}@${at}/${database}` };
}

async function startPart(
  { name, root, begun, signal }: SideOptions,
  folder: string,
  part: 'market' | 'facilitator',
  environment: (port: string) => Promise<Record<string, string>>,
): Promise<{ url: string; pid: number; logFile: string }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  // Logs to a file, so that no process has to read along during the measurement.
  const logFile = join(folder, `${part}.log`);
  const server = await startServer({
    name: `${name} ${part}`,
    main: pathToFileURL(join(root, `src/${part}/main.ts`)),
    env: await environment(String(port)),
    logFile,
    readyUrl: `${url}/readyz`,
    signal,
  });
  begun.defer(() => server.stop());
  return { url, pid: server.pid, logFile };
}
