import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { systemRandom } from '../platform/random.ts';
import { WORLD_ACCOUNTS } from './chain/accounts.ts';
import type { LocalChain } from './chain/start-chain.ts';
import { type ServerProcess, startServer } from './server-process.ts';

const LIMITS = { registration_per_ip_hour: 1_000, registration_per_hour: 1_000, confirm_per_ip_hour: 1_000 };
/** Raised, because all requests come from one address. */
const BUDGETS = { chain_reads_per_ip_minute: 6_000, chain_reads_per_minute: 20_000, read_ms_per_ip_minute: 30_000 };
/** Raised, because gas costs nothing here. */
const FACILITATOR_LIMITS = { gas_loss_hour_units: 1_000_000_000, gas_loss_day_units: 1_000_000_000 };
/** A hundredth of the default, because gas on the local chain costs a hundred times the real price. */
const ETHER_USDC = 50;

/** Creates the secret shared by market and facilitator: a new one at each start, never stored on disk. */
export function makeFacilitatorAuth(): string {
  return `Bearer ${systemRandom.bytes(32).toString('base64url')}`;
}

export function openFacilitator(
  dataDir: string,
  ports: Ports,
  { chain, auth, signal }: { chain: LocalChain; auth: string; signal: AbortSignal },
): Promise<ServerProcess> {
  const keyFile = join(dataDir, 'facilitator.key');
  writeFileSync(keyFile, `${WORLD_ACCOUNTS.facilitator.key}\n`, { mode: 0o600 });
  chmodSync(keyFile, 0o600);
  return startServer({
    name: 'facilitator',
    main: new URL('../facilitator/main.ts', import.meta.url),
    env: {
      FACILITATOR_PORT: String(ports.facilitator),
      FACILITATOR_RPC_URL: chain.url,
      FACILITATOR_KEY_FILE: keyFile,
      FACILITATOR_DATA_DIR: dataDir,
      FACILITATOR_AUTH: auth,
      FACILITATOR_LIMITS: JSON.stringify(FACILITATOR_LIMITS),
      FACILITATOR_ETHER_USDC: String(ETHER_USDC),
    },
    logFile: join(dataDir, 'logs', 'facilitator.log'),
    readyUrl: `http://127.0.0.1:${ports.facilitator}/readyz`,
    signal,
  });
}

export function openMarket(
  dataDir: string,
  ports: Ports,
  {
    chain,
    facilitatorUrl,
    auth,
    signal,
  }: { chain: LocalChain; facilitatorUrl: string; auth: string; signal: AbortSignal },
): Promise<ServerProcess> {
  return startServer({
    name: 'market',
    main: new URL('../market/main.ts', import.meta.url),
    env: {
      OPENAISLE_PORT: String(ports.market),
      OPENAISLE_DATA_DIR: join(dataDir, 'market'),
      OPENAISLE_RPC_URLS: chain.url,
      OPENAISLE_FINALITY_MIN_AGE_SECONDS: '0',
      // No explorer knows this chain.
      OPENAISLE_EXPLORER_URL: 'none',
      OPENAISLE_TREASURY: WORLD_ACCOUNTS.treasury.address,
      OPENAISLE_FACILITATOR_URL: facilitatorUrl,
      OPENAISLE_FACILITATOR_AUTH: auth,
      OPENAISLE_CITY_URL: `http://127.0.0.1:${ports.city}`,
      OPENAISLE_LIMITS: JSON.stringify({ ...LIMITS, ...BUDGETS }),
    },
    logFile: join(dataDir, 'logs', 'market.log'),
    readyUrl: `http://127.0.0.1:${ports.market}/readyz`,
    signal,
  });
}

/** City and market read only each other's public data, and neither has the other's keys. */
export function openCity(
  dataDir: string,
  ports: Ports,
  { chain, signal }: { chain: LocalChain; signal: AbortSignal },
): Promise<ServerProcess> {
  return startServer({
    name: 'city',
    main: new URL('../city/main.ts', import.meta.url),
    env: {
      CITY_PORT: String(ports.city),
      CITY_DATA_DIR: dataDir,
      CITY_MARKET_URL: `http://127.0.0.1:${ports.market}`,
      CITY_RPC_URLS: chain.url,
      CITY_FINALITY_MIN_AGE_SECONDS: '0',
      CITY_LIMITS: JSON.stringify(LIMITS),
    },
    logFile: join(dataDir, 'logs', 'city.log'),
    readyUrl: `http://127.0.0.1:${ports.city}/readyz`,
    signal,
  });
}

export interface Ports {
  market: number;
  facilitator: number;
  city: number;
  chain: number;
}

export function portsFrom(first: number): Ports {
  return { market: first, facilitator: first + 1, city: first + 2, chain: first + 3 };
}

/** Checks the ports first, because a server reports a taken port later and less clearly. */
export async function checkPortsFree(ports: Ports): Promise<void> {
  for (const [name, port] of Object.entries(ports)) {
    if (await isPortFree(port)) continue;
    throw new Error(
      `Port ${port} (${name}) is in use. Stop the program that uses it, or choose other ports with --ports N.`,
    );
  }
}

export async function isPortFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ port, host: '127.0.0.1', exclusive: true });
    await once(server, 'listening');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'EADDRINUSE' || error.code === 'EACCES'))
      return false;
    throw error;
  }
  server.close();
  await once(server, 'close');
  return true;
}
