import sql from 'sql-template-tag';
import { DEFAULT_LIMITS, type Limits } from '../../src/contract/vocabulary.ts';
import { type Connector, createConnector, type FetchDocument } from '../../src/market/connect/connector.ts';
import type { Interaction, SignInProof } from '../../src/market/connect/interaction.ts';
import type { Market, Merchant } from '../../src/market/context.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { createHttpServer } from '../../src/platform/http/create-http-server.ts';
import { refuseUnreadable } from '../../src/platform/http/failure.ts';
import type { Incoming } from '../../src/platform/http/message.ts';
import { systemRandom } from '../../src/platform/random.ts';
import type { TestDatabase } from './database.ts';
import { freePort } from './free-port.ts';
import { marketContext, WIDE_BUDGETS } from './market-context.ts';
import { joinMarket, type Member, TEST_PEPPER } from './market-world.ts';
import type { ConsentPage } from './oauth-client.ts';
import { publishDocuments } from './oauth-shapes.ts';
import { type LogLine, recordingLog } from './recording-log.ts';

const MAX_LOOKS = 500;

/**
 * Runs `act` while all rows of a model in `oauth_artifacts` are locked, and unlocks them once `waiting` statements wait for a lock. Each
 * of these statements has then read its row as unused.
 */
export async function whileHeld<T>(
  { database }: TestDatabase,
  { model, waiting }: { model: string; waiting: number },
  act: () => Promise<T>,
): Promise<T> {
  let running: Promise<T> | null = null;
  await database.transaction(async (tx) => {
    await tx.run(sql`select from oauth_artifacts where model = ${model} for update`);
    running = act();
    running.catch(() => {});
    for (let look = 0; look < MAX_LOOKS; look += 1) {
      const { count } = await tx.one<{ count: bigint }>(sql`
        select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
      if (count >= BigInt(waiting)) return;
      await systemClock.sleep(10);
    }
    throw new Error('no session waits for it');
  });
  if (running === null) throw new Error('nothing ran');
  return await running;
}

/** The authorization server with a database but without the market. Its page is one line of text, and tests give consent directly. */
export interface OauthStage {
  url: string;
  /** Actual listening URL. A second process of a site shares its base URL but has its own port. */
  at: string;
  market: Market;
  connector: Connector;
  logLines: LogLine[];
  /** Creates a merchant with the proof that the page would accept. */
  join(handle: string): Promise<Member & { proof: SignInProof }>;
  find(page: Pick<ConsentPage, 'browser' | 'url' | 'uid'>): Promise<Interaction | null>;
  /** Gives consent as the page does. Returns the redirect URL. */
  allow(page: ConsentPage, proof: SignInProof): Promise<string>;
  cancel(page: ConsentPage): Promise<string>;
  stop(): Promise<void>;
}

interface StageOptions {
  changes?: Partial<Market>;
  limits?: Partial<Limits>;
  fetchDocument?: FetchDocument;
  hostedHosts?: readonly string[];
  baseUrl?: string;
  clientNetworkLimits?: Market['config']['clientNetworkLimits'];
}

export async function startOauthStage(db: TestDatabase, options: StageOptions = {}): Promise<OauthStage> {
  const port = await freePort();
  const { log, lines } = recordingLog();
  const base = marketContext({ database: db.database });
  const market: Market = {
    ...base,
    log,
    pepper: TEST_PEPPER,
    ...options.changes,
    config: {
      ...base.config,
      baseUrl: options.baseUrl ?? `http://127.0.0.1:${port}`,
      limits: {
        ...DEFAULT_LIMITS,
        ...WIDE_BUDGETS,
        oauth_clients_per_ip_hour: 1_000,
        oauth_starts_per_ip_hour: 10_000,
        ...options.limits,
      },
      clientNetworkLimits: options.clientNetworkLimits ?? [],
      hostedHosts: options.hostedHosts ?? ['claude.ai', 'chatgpt.com', 'vscode.dev'],
    },
  };
  const connector = createConnector(market, { fetchDocument: options.fetchDocument ?? publishDocuments() });
  const http = serve(market, connector);
  await http.listen({ host: '127.0.0.1', port });
  const mustFind = async (page: ConsentPage): Promise<Interaction> => {
    const found = await connector.interactions.find(incomingOf(page), page.uid);
    if (found === null) throw new Error('there is no such attempt');
    return found;
  };
  return {
    url: market.config.baseUrl,
    at: `http://127.0.0.1:${port}`,
    market,
    connector,
    logLines: lines,
    join: async (handle) => {
      const member = await joinMarket(db, handle);
      return { ...member, proof: await proofOf(db, member.id) };
    },
    find: (page) => connector.interactions.find(incomingOf(page), page.uid),
    allow: async (page, proof) =>
      (await connector.interactions.allow(incomingOf(page), await mustFind(page), proof)).location,
    cancel: async (page) => (await connector.interactions.cancel(incomingOf(page), await mustFind(page))).location,
    stop: () => http.close({ drainMs: 0 }),
  };
}

function serve(market: Market, connector: Connector) {
  const { clock, log, random } = market;
  return createHttpServer<Record<never, never>, Market, Merchant>({
    endpoints: {},
    operations: {},
    context: market,
    authenticate: async () => null,
    isMaintainer: () => false,
    callerId: ({ id }) => id,
    ...{ clock, log, random },
    docsUrl: (reason) => `${market.config.baseUrl}/docs/errors/${reason}`,
    secretPrefixes: ['aisle', 'city'],
    trustProxy: ['loopback'],
    classifyError: refuseUnreadable,
    pages: [
      {
        method: 'GET',
        path: '/oauth/interaction/:uid',
        cache: 'private',
        handler: () => ({ status: 200, headers: { 'content-type': 'text/plain' }, body: 'the page' }),
      },
    ],
    extraRoutes: (inside) => connector.routes(inside),
  });
}

/** Returns the sign-in proof of the merchant's active key. */
export async function proofOf({ database }: TestDatabase, merchantId: bigint): Promise<SignInProof> {
  const { id } = await database.one<{ id: bigint }>(
    sql`select id from merchant_keys where merchant_id = ${merchantId} and revoked_at is null`,
  );
  return { merchantId, keyId: id, provedBy: 'key' };
}

/** Builds the request for a step of the page, as its browser would send it. */
function incomingOf({ browser, url, uid }: Pick<ConsentPage, 'browser' | 'url' | 'uid'>): Incoming {
  const { pathname: path } = new URL(url);
  const cookie = browser.cookiesFor(url);
  const headers = cookie === '' ? {} : { cookie };
  return {
    method: 'POST',
    target: { path, query: '', whole: path },
    params: { uid },
    headers,
    rawHeaders: Object.entries(headers).flat(),
    body: new Uint8Array(),
    requestId: systemRandom.uuid(),
    clientNetwork: '192.0.2.1',
    signal: new AbortController().signal,
    notes: {},
  };
}
