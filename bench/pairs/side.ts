import { mkdtemp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import sql from 'sql-template-tag';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { startServer } from '../../src/local/server-process.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { type Seeded, seed } from '../seed.ts';
import { PAYERS } from '../settings.ts';
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
  begun: AsyncDisposableStack;
  signal: AbortSignal;
}

const AUTHORIZATION = 'Bearer bench-of-two-checkouts';

export async function startSide(options: SideOptions): Promise<Side> {
  const { name, root, chain, begun, signal } = options;
  const folder = await mkdtemp(join(options.folder, `${name}-`));
  const socketUrl = new URL(options.postgresUrl);
  const socket = socketUrl.searchParams.get('host');
  if (socket === null) throw new Error('the embedded PostgreSQL is not on a socket');
  const meter = await meterDatabase(
    join(socket, `.s.PGSQL.${socketUrl.searchParams.get('port') ?? socketUrl.port ?? 5432}`),
  );
  begun.defer(() => meter.close());
  const chainMeter = await meterChain(chain.url);
  begun.defer(() => chainMeter.close());
  const database = `bench_${name}`;
  const own = await openDatabase({ url: options.postgresUrl, poolSize: 1, applicationName: 'bench' });
  await own.run(sql([`create database ${database}`]));
  await own.close();
  const direct = new URL(options.postgresUrl);
  direct.pathname = `/${database}`;
  const { migrate } = (await import(pathToFileURL(join(root, 'src/platform/database/migrate.ts')).href)) as {
    migrate(url: string, folder: string): Promise<unknown>;
  };
  await migrate(direct.href, join(root, 'migrations/market'));
  const books = await openDatabase({ url: direct.href, poolSize: 2, applicationName: 'openaisle-bench' });
  begun.defer(() => books.close());
  const pepper = systemRandom.bytes(32);
  const seeded = await seed(books, { listings: options.listings, buyers: PAYERS, pepper });
  const pepperFile = join(folder, 'pepper');
  const keyFile = join(folder, 'signer.key');
  await writeFile(pepperFile, `1:${pepper.toString('hex')}\n`, { mode: 0o600 });
  await writeFile(keyFile, `${options.facilitatorKey}\n`, { mode: 0o600 });
  const credentials = `${direct.username}:${direct.password}`;
  const start = async (part: 'market' | 'facilitator', port: number, env: Record<string, string>) => {
    const main = pathToFileURL(join(root, `src/${part}/main.ts`));
    const readyUrl = `http://127.0.0.1:${port}/readyz`;
    const server = await startServer({
      name: `${name} ${part}`,
      main,
      env,
      logFile: join(folder, `${part}.log`),
      readyUrl,
      signal,
    });
    begun.defer(() => server.stop());
    return { url: `http://127.0.0.1:${port}`, pid: server.pid };
  };
  const [port, facilitatorPort] = [await freePort(), await freePort()];
  const facilitator = await start('facilitator', facilitatorPort, {
    FACILITATOR_PORT: String(facilitatorPort),
    FACILITATOR_RPC_URL: chainMeter.url,
    FACILITATOR_KEY_FILE: keyFile,
    FACILITATOR_DATA_DIR: folder,
    ...(name === 'after' ? { FACILITATOR_AUTH: AUTHORIZATION } : {}),
  });
  const market = await start('market', port, {
    DATABASE_URL: `postgres://${credentials}@${meter.url}/${database}`,
    OPENAISLE_PORT: String(port),
    OPENAISLE_PEPPER_FILE: pepperFile,
    OPENAISLE_NETWORK: 'base',
    OPENAISLE_RPC_URLS: chainMeter.url,
    OPENAISLE_FACILITATOR_URL: facilitator.url,
    OPENAISLE_FACILITATOR_AUTH: AUTHORIZATION,
    OPENAISLE_TREASURY: WORLD_ACCOUNTS.treasury.address,
    OPENAISLE_FINALITY_MIN_AGE_SECONDS: '0',
  });
  return {
    name,
    marketUrl: market.url,
    seeded,
    spent: async () => {
      const backends = await books.rows<{ pid: number }>(
        sql`select pid from pg_stat_activity where datname = current_database() and application_name <> 'openaisle-bench'`,
      );
      const { requests = 0, calls = 0 } = chainMeter.counts();
      return {
        statements: meter.counts()['statements'] ?? 0,
        chainRequests: requests,
        chainCalls: calls,
        marketMs: cpuMsOf(market.pid),
        facilitatorMs: cpuMsOf(facilitator.pid),
        databaseMs: backends.reduce((sum, { pid }) => sum + ownCpuMs(pid), 0),
      };
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') return reject(new Error('no free port'));
      server.close(() => resolve(address.port));
    });
  });
}
