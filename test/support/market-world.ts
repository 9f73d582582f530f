import sql from 'sql-template-tag';
import { DEFAULT_LIMITS, IDENTITY_ENDPOINTS, type Limits, NETWORKS } from '../../src/contract/vocabulary.ts';
import type { FacilitatorOptions } from '../../src/facilitator/create-facilitator.ts';
import { type TestAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { ChainOptions, LocalChain } from '../../src/local/chain/start-chain.ts';
import type { FetchDocument } from '../../src/market/connect/connector.ts';
import type { CrashPoint, MarketConfig } from '../../src/market/context.ts';
import { createMarket, type RunningMarket } from '../../src/market/create-market.ts';
import { readBlock } from '../../src/platform/chain/reads.ts';
import type { Authorization } from '../../src/platform/chain/shapes.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { type Hex, toHex } from '../../src/platform/hex.ts';
import type { LogCopyPlace } from '../../src/platform/log-copy/place.ts';
import { createPepperFrom } from '../../src/platform/pepper.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { makeMerchantKey } from '../../src/platform/secrets.ts';
import { watchAnswer } from './canary.ts';
import { signAuthorization, startTestChain } from './chain.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { startTestFacilitator, type TestFacilitator } from './facilitator.ts';
import { WIDE_BUDGETS } from './market-context.ts';
import { type LogLine, recordingLog } from './recording-log.ts';
import { seedMerchant } from './seed.ts';

export const BASE_URL = 'http://127.0.0.1:4020';
export const TEST_PEPPER = createPepperFrom(new Map([[1, Buffer.alloc(32, 7)]]));

export interface Answer {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

export interface Member {
  id: bigint;
  handle: string;
  key: string;
}

export interface WorldOptions {
  chain?: ChainOptions;
  /** Replaces our own facilitator, for example with one that lies or never answers. */
  facilitatorUrl?: string;
  /** Options of our own facilitator. The market sends the headers that callers need. */
  facilitator?: Partial<FacilitatorOptions>;
  /** Replaces the chain's own RPC URL. With several, the first is the primary. */
  rpcUrl?: (chain: LocalChain) => string | [string, ...string[]];
  limits?: Partial<Limits>;
  clock?: Clock;
  crashPoint?: (name: CrashPoint) => void;
  reconcileEveryMs?: number;
  watchEveryMs?: number;
  worldEveryMs?: number;
  fetchDocument?: FetchDocument;
  /** Prefix of keys that the market issues. `join` still makes keys with the default prefix. */
  keyPrefix?: string;
  /** URL of the linked city. It reads the market, so both need fixed ports. */
  cityUrl?: string;
  port?: number;
  /** Public URL, if others reach the market through a proxy. */
  baseUrl?: string;
  /** Replaces the market's database URL, for example with a proxy's or a restricted role's. */
  databaseUrl?: (db: TestDatabase) => Promise<string>;
  /** Uses this database instead of a new one on the shared server. It is not dropped. */
  db?: TestDatabase;
  logCopy?: LogCopyPlace;
}

/** A real chain, token, facilitator, database and market, for one test file. */
export interface World {
  chain: LocalChain;
  facilitator: TestFacilitator;
  running: RunningMarket;
  db: TestDatabase;
  url: string;
  logLines: LogLine[];
  /** Creates a merchant with a key, as registration would. */
  join(handle: string): Promise<Member>;
  ask(method: string, path: string, options?: AskOptions): Promise<Answer>;
  buy(listingId: bigint, options?: AskOptions): Promise<Answer>;
  /** Makes everything mined so far final. */
  finalize(): Promise<void>;
  stop(): Promise<void>;
}

export interface AskOptions {
  key?: string;
  body?: unknown;
  headers?: Record<string, string>;
  proof?: { header: string; value: string };
}

export function worldConfig(given: {
  databaseUrl: string;
  rpcUrl: string | [string, ...string[]];
  facilitatorUrl: string;
  facilitatorAuth?: string | null | undefined;
  limits?: Partial<Limits>;
  cityUrl?: string | undefined;
  /** Fixes the port, for a city that reads the market. */
  port?: number | undefined;
  baseUrl?: string | undefined;
  keyPrefix?: string;
}): MarketConfig {
  return {
    host: '127.0.0.1',
    port: given.port ?? 0,
    metricsPort: 0,
    workers: 1,
    baseUrl: given.baseUrl ?? (given.port === undefined ? BASE_URL : `http://127.0.0.1:${given.port}`),
    databaseUrl: given.databaseUrl,
    databaseConnections: null,
    dataDir: '/nonexistent',
    logCopyDir: null,
    network: NETWORKS.base,
    rpcUrls: typeof given.rpcUrl === 'string' ? [given.rpcUrl] : given.rpcUrl,
    finalityMinAgeSeconds: 0,
    treasury: WORLD_ACCOUNTS.treasury.address,
    facilitatorUrl: given.facilitatorUrl,
    facilitatorAuth: given.facilitatorAuth ?? null,
    cityUrl: given.cityUrl ?? null,
    pepperFile: null,
    s3: null,
    keyPrefix: given.keyPrefix ?? 'aisle',
    deploymentCommit: null,
    sourceUrl: null,
    explorerUrl: null,
    contactUrl: null,
    limits: { ...DEFAULT_LIMITS, ...WIDE_BUDGETS, registration_per_ip_hour: 1_000, ...given.limits },
    clientNetworkLimits: [],
    catalogMemoryBytes: 67_108_864,
    openIdentityEndpoints: new Set(IDENTITY_ENDPOINTS),
    hostedHosts: ['claude.ai', 'chatgpt.com', 'vscode.dev'],
    trustProxy: false,
  };
}

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const db = options.db ? { ...options.db, drop: async () => {} } : await createTestDatabase();
  const chain = await startTestChain({ finalityBlocks: 4, ...options.chain });
  const facilitator = await startTestFacilitator(chain, options.facilitator);
  const { log, lines } = recordingLog();
  const databaseUrl = (await options.databaseUrl?.(db)) ?? db.url;
  const database = await openDatabase({ url: databaseUrl, allowUnsafe: true });
  const running = createMarket({
    config: worldConfig({
      databaseUrl,
      rpcUrl: options.rpcUrl?.(chain) ?? chain.url,
      facilitatorUrl: options.facilitatorUrl ?? facilitator.url,
      facilitatorAuth: options.facilitator?.auth,
      cityUrl: options.cityUrl,
      port: options.port,
      baseUrl: options.baseUrl,
      ...(options.keyPrefix ? { keyPrefix: options.keyPrefix } : {}),
      ...(options.limits ? { limits: options.limits } : {}),
    }),
    database,
    clock: options.clock ?? systemClock,
    random: systemRandom,
    log,
    pepper: TEST_PEPPER,
    reconcileEveryMs: options.reconcileEveryMs ?? 60_000,
    watchEveryMs: options.watchEveryMs ?? 3_600_000,
    // Blocks become final when the test says so, not at a network's pace.
    longestPauseMs: 0,
    worldEveryMs: options.worldEveryMs ?? 3_600_000,
    ...(options.crashPoint ? { crashPoint: options.crashPoint } : {}),
    ...(options.logCopy ? { logCopy: options.logCopy } : {}),
    ...(options.fetchDocument ? { fetchDocument: options.fetchDocument } : {}),
  });
  const { url } = await running.start();
  const ask = (method: string, path: string, asked: AskOptions = {}): Promise<Answer> =>
    askMarket(url, method, path, asked);
  return {
    chain,
    facilitator,
    running,
    db: { url: db.url, database: db.database },
    url,
    logLines: lines,
    join: (handle) => joinMarket(db, handle),
    ask,
    buy: (listingId, asked) => ask('POST', `/api/buy/${listingId}`, asked),
    finalize: () => chain.mine(6),
    stop: async () => {
      await running.stop({ drainMs: 5_000 });
      await database.close();
      await facilitator.close();
      await chain.stop();
      await db.drop();
    },
  };
}

export async function joinMarket(db: TestDatabase, handle: string): Promise<Member> {
  const merchant = await seedMerchant(db.database, { handle });
  const key = makeMerchantKey(systemRandom, 'aisle');
  await db.database.run(
    sql`insert into merchant_keys (key_hash, pepper_version, merchant_id, created_at)
      values (${TEST_PEPPER.hash(key)}, 1, ${merchant.id}, now())`,
  );
  return { ...merchant, key };
}

export async function askMarket(url: string, method: string, path: string, asked: AskOptions = {}): Promise<Answer> {
  const headers: Record<string, string> = { ...asked.headers };
  if (asked.key !== undefined) headers['authorization'] = `Bearer ${asked.key}`;
  if (asked.proof !== undefined) headers[asked.proof.header] = asked.proof.value;
  if (asked.body !== undefined) headers['content-type'] = 'application/json';
  const response = await fetch(`${url}${path}`, {
    method,
    headers,
    body: asked.body === undefined ? null : JSON.stringify(asked.body),
  });
  const text = await response.text();
  const { status, headers: answered } = response;
  watchAnswer({ method, path, asked: asked.body, status, headers: answered, text });
  return { status, headers: answered, body: text === '' ? {} : JSON.parse(text) };
}

export interface SignedProof {
  authorization: Authorization;
  signature: Hex;
  v1: { header: string; value: string };
  v2: { header: string; value: string };
}

export interface ProofTerms {
  payTo: Hex;
  units: bigint;
  resource?: string;
  /** Overrides fields of the authorization. */
  signed?: Partial<Authorization>;
  secondsAhead?: number;
  now?: number;
}

/** Signs an authorization as a client does and returns it in both x402 envelopes. */
export async function signProof(chain: LocalChain, payer: TestAccount, terms: ProofTerms): Promise<SignedProof> {
  const seconds = BigInt(Math.floor((terms.now ?? systemClock.now()) / 1000));
  const authorization: Authorization = {
    from: payer.address,
    to: terms.payTo,
    value: terms.units,
    validAfter: 0n,
    validBefore: seconds + BigInt(terms.secondsAhead ?? 120),
    nonce: toHex(systemRandom.bytes(32)),
    ...terms.signed,
  };
  const signature = await signAuthorization(chain, payer, authorization);
  return wrapProof(authorization, signature, terms);
}

export function wrapProof(authorization: Authorization, signature: Hex, terms: ProofTerms): SignedProof {
  const payload = {
    signature,
    authorization: {
      from: authorization.from,
      to: authorization.to,
      value: authorization.value.toString(),
      validAfter: authorization.validAfter.toString(),
      validBefore: authorization.validBefore.toString(),
      nonce: authorization.nonce,
    },
  };
  const accepted = {
    scheme: 'exact',
    network: 'eip155:8453',
    amount: terms.units.toString(),
    asset: NETWORKS.base.usdc,
    payTo: terms.payTo,
    maxTimeoutSeconds: 120,
    extra: { name: 'USD Coin', version: '2' },
  };
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64');
  const v1 = encode({ x402Version: 1, scheme: 'exact', network: 'base', payload });
  const resource = terms.resource === undefined ? {} : { resource: { url: terms.resource } };
  const v2 = encode({ x402Version: 2, ...resource, accepted, payload });
  return {
    authorization,
    signature,
    v1: { header: 'x-payment', value: v1 },
    v2: { header: 'payment-signature', value: v2 },
  };
}

/** Returns the amounts of all USDC transfers from one wallet to another. */
export async function paidUnits(chain: LocalChain, from: Hex, to: Hex): Promise<bigint[]> {
  const { readLogs } = await import('../../src/platform/chain/reads.ts');
  const { addressTopic, decodeTransfer, TRANSFER_TOPIC } = await import('../../src/platform/chain/usdc.ts');
  const logs = await readLogs(chain.rpc, {
    address: NETWORKS.base.usdc,
    topics: [TRANSFER_TOPIC, addressTopic(from), addressTopic(to)],
    fromBlock: 0n,
  });
  return logs.map((log) => decodeTransfer(log)?.value ?? 0n);
}

export async function latestNumber(chain: LocalChain): Promise<bigint> {
  return (await readBlock(chain.rpc, 'latest'))?.number ?? 0n;
}
