import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import sql from 'sql-template-tag';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { startServer } from '../../src/local/server-process.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { freePort } from '../../test/support/free-port.ts';
import { type Seeded, seed } from '../seed.ts';
import { PAYERS } from '../settings.ts';
import { writePrivate } from '../write-private.ts';
import { cpuMsOf, meterChain, meterDatabase, ownCpuMs } from './meters.ts';

/** What was spent so far. */
export interface Spent {
  statements: number;
  chainRequests: number;
  chainCalls: number;
  marketMs: number;
  facilitatorMs: number;
  databaseMs: number;
}

/** One version of the code with all that it needs, and meters before its database and its chain. */
export interface Side {
  name: string;
  marketUrl: string;
  seeded: Seeded;
  spent(): Promise<Spent>;
}

export interface SideOptions {
  name: string;
  /** Of the checkout. */
  root: string;
  folder: string;
  chain: LocalChain;
  /** The server of both sides: each has a database of its own there. */
  postgresUrl: string;
  listings: number;
  /** Signs its settlements: two servers never share one. */
  facilitatorKey: string;
  /** What only this version understands. */
  marketEnv: Record<string, string>;
  facilitatorEnv: Record<string, string>;
  begun: AsyncDisposableStack;
  signal: AbortSignal;
}

export async function startSide(options: SideOptions): Promise<Side> {
  const { name, chain, begun } = options;
  const folder = await mkdtemp(join(options.folder, `${name}-`));
  const database = await openBooks(options);
  const chainMeter = await meterChain(chain.url);
  begun.defer(() => chainMeter.close());
  const pepper = systemRandom.bytes(32);
  const seeded = await seed(database.books, { listings: options.listings, buyers: PAYERS, pepper });
  const pepperFile = await writePrivate(join(folder, 'pepper'), `1:${pepper.toString('hex')}\n`);
  const facilitator = await startPart(options, folder, 'facilitator', async (port) => ({
    FACILITATOR_PORT: port,
    FACILITATOR_RPC_URL: chainMeter.url,
    FACILITATOR_KEY_FILE: await writePrivate(join(folder, 'signer.key'), `${options.facilitatorKey}\n`),
    FACILITATOR_DATA_DIR: folder,
    ...options.facilitatorEnv,
  }));
  const market = await startPart(options, folder, 'market', async (port) => ({
    DATABASE_URL: database.url,
    OPENAISLE_PORT: port,
    OPENAISLE_PEPPER_FILE: pepperFile,
    OPENAISLE_NETWORK: 'base',
    OPENAISLE_RPC_URLS: chainMeter.url,
    OPENAISLE_FACILITATOR_URL: facilitator.url,
    OPENAISLE_TREASURY: WORLD_ACCOUNTS.treasury.address,
    OPENAISLE_FINALITY_MIN_AGE_SECONDS: '0',
    ...options.marketEnv,
  }));
  return {
    name,
    marketUrl: market.url,
    seeded,
    spent: async () => {
      const backends = await database.books.rows<{ pid: number }>(
        sql`select pid from pg_stat_activity where datname = current_database() and application_name <> 'openaisle-bench'`,
      );
      const { requests = 0, calls = 0 } = chainMeter.counts();
      return {
        statements: database.statements(),
        chainRequests: requests,
        chainCalls: calls,
        marketMs: cpuMsOf(market.pid),
        facilitatorMs: cpuMsOf(facilitator.pid),
        databaseMs: backends.reduce((sum, { pid }) => sum + ownCpuMs(pid), 0),
      };
    },
  };
}

/** A database of this side's own, with the tables of its own migrations, reached by the market through a meter. */
async function openBooks({ name, root, postgresUrl, begun }: SideOptions) {
  const direct = new URL(postgresUrl);
  const socket = direct.searchParams.get('host');
  if (socket === null) throw new Error('the embedded PostgreSQL is not on a socket');
  const meter = await meterDatabase(join(socket, `.s.PGSQL.${direct.port}`));
  begun.defer(() => meter.close());
  const database = `bench_${name}`;
  const admin = await openDatabase({ url: postgresUrl, poolSize: 1, applicationName: 'bench' });
  await admin.run(sql([`create database ${database}`]));
  await admin.close();
  direct.pathname = `/${database}`;
  const { migrate } = (await import(pathToFileURL(join(root, 'src/platform/database/migrate.ts')).href)) as {
    migrate(url: string, folder: string): Promise<unknown>;
  };
  await migrate(direct.href, join(root, 'migrations/market'));
  const books = await openDatabase({ url: direct.href, poolSize: 2, applicationName: 'openaisle-bench' });
  begun.defer(() => books.close());
  const url = `postgres://${direct.username}:${direct.password}@${meter.url}/${database}`;
  return { books, url, statements: () => meter.counts()['statements'] ?? 0 };
}

async function startPart(
  { name, root, begun, signal }: SideOptions,
  folder: string,
  part: 'market' | 'facilitator',
  environment: (port: string) => Promise<Record<string, string>>,
): Promise<{ url: string; pid: number }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = await startServer({
    name: `${name} ${part}`,
    main: pathToFileURL(join(root, `src/${part}/main.ts`)),
    env: await environment(String(port)),
    logFile: join(folder, `${part}.log`),
    readyUrl: `${url}/readyz`,
    signal,
  });
  begun.defer(() => server.stop());
  return { url, pid: server.pid };
}
