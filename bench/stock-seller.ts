import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { NETWORKS } from '../src/contract/vocabulary.ts';
import { testAccount } from '../src/local/chain/accounts.ts';
import type { LocalChain } from '../src/local/chain/start-chain.ts';
import { fund } from '../src/local/chain/transactions.ts';
import { startServer } from '../src/local/server-process.ts';
import { freePort } from '../test/support/free-port.ts';
import { installPeers, PEERS } from './install-peers.ts';
import { X402_TIMEOUT_SECONDS } from './proof.ts';
import type { Goods } from './seed.ts';
import { named, type Spent, serverMs } from './spent.ts';
import type { Meters } from './start-meters.ts';

/** A seller with `@x402/express` and the facilitator of `@x402/core`, each in its own process, as their documentation shows. */
export interface StockSeller {
  url: string;
  logFiles: string[];
  spent(): Promise<Spent>;
}

interface StockSellerOptions {
  folder: string;
  chain: LocalChain;
  meters: Meters;
  goods: readonly Goods[];
  begun: AsyncDisposableStack;
  signal: AbortSignal;
  tell(line: string): void;
}

const METER = 'stock facilitator';
const WEI = 1_000n * 10n ** 18n;

export async function startStockSeller(given: StockSellerOptions): Promise<StockSeller> {
  const { folder, chain, meters, goods, tell } = given;
  await installPeers(tell);
  tell('starting the stock seller and its facilitator');
  const signer = testAccount('bench stock facilitator');
  await fund(chain, [{ address: signer.address, wei: WEI }]);
  const facilitator = await startPeer(given, 'facilitator', '/supported', {
    PEER_RPC_URL: await meters.stand(METER, 'chain', chain.url),
    PEER_KEY: signer.key,
  });
  const shelves = join(folder, 'shelves.json');
  await writeFile(shelves, shelvesText(goods));
  const seller = await startPeer(given, 'seller', '/readyz', {
    PEER_SHELVES: shelves,
    PEER_FACILITATOR_URL: facilitator.url,
  });
  return {
    url: seller.url,
    logFiles: [facilitator.logFile, seller.logFile],
    spent: async () => ({
      ...named('facilitator', (await meters.counts())[METER] ?? {}),
      marketMs: await serverMs(seller.pid),
      facilitatorMs: await serverMs(facilitator.pid),
    }),
  };
}

function shelvesText(goods: readonly Goods[]): string {
  const { usdc, domainName, domainVersion } = NETWORKS.base;
  return JSON.stringify({
    asset: usdc,
    extra: { name: domainName, version: domainVersion },
    maxTimeoutSeconds: X402_TIMEOUT_SECONDS,
    goods: Object.fromEntries(
      goods.map(({ id, payee, priceUnits, artifact }) => [id, { payee, priceUnits: String(priceUnits), artifact }]),
    ),
  });
}

async function startPeer(
  { folder, begun, signal }: StockSellerOptions,
  part: 'facilitator' | 'seller',
  readyPath: string,
  env: Record<string, string>,
): Promise<{ url: string; pid: number; logFile: string }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const logFile = join(folder, `stock-${part}.log`);
  const server = await startServer({
    name: `stock ${part}`,
    main: pathToFileURL(join(PEERS, `${part}.ts`)),
    env: { ...env, PEER_PORT: String(port), NODE_ENV: 'production' },
    logFile,
    readyUrl: `${url}${readyPath}`,
    signal,
  });
  begun.defer(() => server.stop());
  return { url, pid: server.pid, logFile };
}
