import { type Endpoints, endpoints } from '../../src/contract/index.ts';
import { DEFAULT_LIMITS, IDENTITY_ENDPOINTS, type Limits } from '../../src/contract/vocabulary.ts';
import type { Market, MarketCall, MarketConfig } from '../../src/market/context.ts';
import { createMarket, type RunningMarket } from '../../src/market/create-market.ts';
import { createMetrics, type Metrics } from '../../src/market/create-metrics.ts';
import { register } from '../../src/market/identity/register.ts';
import { countRequests } from '../../src/market/start.ts';
import type { Clock } from '../../src/platform/clock.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { WIDE_BUDGETS } from './market-context.ts';
import { type Answer, type AskOptions, askMarket, TEST_PEPPER, worldConfig } from './market-world.ts';
import { type LogLine, recordingLog } from './recording-log.ts';

type Register = Endpoints['register'];
const answer = endpoints.register.answers[200];

export interface StagedSecrets {
  session: string;
  csrf: string;
  merchant_key: string;
  recovery_codes: string[];
  expires_at: string;
}

/** Calls the register endpoint as a client would: bodies and answers are checked against its schemas. */
export function registerCaller(market: Market) {
  const post = async (given: unknown, from: { bearer?: string; network?: string } = {}) => {
    const body = endpoints.register.body.parse(given);
    const call = { body, bearer: from.bearer ?? null, clientNetwork: from.network ?? '192.0.2.1' };
    const { status, body: answered } = await register(market, call as MarketCall<Register>);
    return { status, body: answer.parse(answered) };
  };
  return {
    post,
    stage: async (handle: string, network?: string): Promise<StagedSecrets> => {
      const { body } = await post(
        { action: 'stage', handle, model: 'test', client_class: 'coding_ephemeral', human_approved: true },
        network === undefined ? {} : { network },
      );
      if (body.status !== 'staged') throw new Error(`unexpected answer ${body.status}`);
      return body;
    },
    confirm: (staged: StagedSecrets, more: { handle?: string; bearer?: string; network?: string } = {}) => {
      const { handle, bearer = staged.merchant_key, network } = more;
      const { session, csrf } = staged;
      return post(
        { action: 'confirm', session, csrf, ...(handle === undefined ? {} : { handle }) },
        { bearer, ...(network === undefined ? {} : { network }) },
      );
    },
  };
}

/** URL of a closed port. Identity endpoints need no chain. */
const CLOSED_PORT_URL = 'http://127.0.0.1:1';

/** Limits of all identity endpoints, far above the needs of any test. */
export const ROOMY: Partial<Limits> = {
  ...{ registration_per_ip_hour: 1_000_000, registration_per_hour: 1_000_000, confirm_per_ip_hour: 1_000_000 },
  ...{ rotation_starts_per_ip_hour: 1_000_000, rotation_per_merchant_day: 1_000_000 },
  ...{ recovery_starts_per_ip_hour: 1_000_000, pair_per_merchant_hour: 1_000_000 },
};

interface DoorOptions {
  database: Database;
  databaseUrl: string;
  clock: Clock;
  limits?: Partial<Limits>;
  config?: Partial<MarketConfig>;
}

/** A served market without chain and facilitator, with identity endpoints enabled. `x-forwarded-for` sets the client's network. */
export interface Doors {
  url: string;
  running: RunningMarket;
  logLines: LogLine[];
  metrics: Metrics;
  ask(method: string, path: string, asked?: AskOptions): Promise<Answer>;
  stop(): Promise<void>;
}

export async function startDoors({ database, databaseUrl, clock, limits, config }: DoorOptions): Promise<Doors> {
  const { log, lines } = recordingLog();
  const metrics = createMetrics({ worker: '1', withProcess: false });
  const base = worldConfig({ databaseUrl, rpcUrl: CLOSED_PORT_URL, facilitatorUrl: CLOSED_PORT_URL });
  const running = createMarket({
    config: {
      ...base,
      limits: {
        ...DEFAULT_LIMITS,
        ...WIDE_BUDGETS,
        networks_per_site: DEFAULT_LIMITS.networks_per_site,
        ...ROOMY,
        ...limits,
      },
      openIdentityEndpoints: new Set(IDENTITY_ENDPOINTS),
      trustProxy: ['loopback'],
      ...config,
    },
    ...{ database, clock, metrics, random: systemRandom, pepper: TEST_PEPPER },
    log: countRequests(log, metrics.countRequest),
    ...{ reconcileEveryMs: 3_600_000, watchEveryMs: 3_600_000 },
  });
  const { url } = await running.start();
  return {
    url,
    running,
    logLines: lines,
    metrics,
    ask: (method, path, asked) => askMarket(url, method, path, asked),
    stop: () => running.stop({ drainMs: 1_000 }),
  };
}

export interface Shown {
  session: string;
  csrf: string;
  merchant_key: string;
  recovery_codes: string[];
  expires_at: string;
}

/** A merchant with the secrets that its owner keeps. */
export interface Owner {
  id: number;
  handle: string;
  key: string;
  codes: string[];
}

interface From {
  key?: string;
  network?: string;
}

type Ask = (method: string, path: string, asked?: AskOptions) => Promise<Answer>;
export type IdentityClient = ReturnType<typeof identityClient>;

/** Calls the identity endpoints. Calls that return secrets, and the `must` variants, throw unless the answer is 200. Others accept any answer. */
export function identityClient(ask: Ask) {
  const post = (door: string, body: unknown, { key, network }: From = {}): Promise<Answer> =>
    ask('POST', `/api/${door}`, {
      body,
      ...(key === undefined ? {} : { key }),
      headers: network === undefined ? {} : { 'x-forwarded-for': network },
    });
  const must = async (door: string, body: unknown, from: From = {}): Promise<Record<string, unknown>> => {
    const answer = await post(door, body, from);
    if (answer.status !== 200) throw new Error(`${door}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const shown = async (door: string, body: unknown, from: From = {}): Promise<Shown> => {
    const { recovery_codes = [], ...rest } = await must(door, body, from);
    return { ...rest, recovery_codes } as unknown as Shown;
  };
  const stage = (handle: string, from?: From) =>
    shown(
      'register',
      { action: 'stage', handle, model: 'm', client_class: 'coding_ephemeral', human_approved: true },
      from,
    );
  const confirm = (door: string, { session, csrf, merchant_key }: Shown, from: From = {}) =>
    post(door, { action: 'confirm', session, csrf }, { key: merchant_key, ...from });
  const mustConfirm = async (door: string, staged: Shown): Promise<void> => {
    const answer = await confirm(door, staged);
    if (answer.status !== 200) throw new Error(`${door}: ${JSON.stringify(answer.body)}`);
  };
  return {
    post,
    must,
    stage,
    confirm,
    mustConfirm,
    cancel: (door: string, { session, csrf }: Shown) => post(door, { action: 'cancel', session, csrf }),
    rotation: (key: string, from: From = {}) => shown('rotate', { action: 'begin' }, { key, ...from }),
    recovery: (recovery_code: string, from?: From) => shown('recovery', { action: 'begin', recovery_code }, from),
    generate: (key: string, recovery_code?: string) =>
      must('recovery', { action: 'generate', ...(recovery_code === undefined ? {} : { recovery_code }) }, { key }),
    join: async (handle: string): Promise<Owner> => {
      const staged = await stage(handle);
      const { session, csrf, merchant_key: key, recovery_codes: codes } = staged;
      const { merchant_id } = await must('register', { action: 'confirm', session, csrf }, { key });
      return { id: Number(merchant_id), handle, key, codes };
    },
    me: (key: string) => ask('GET', '/api/me', { key }),
    isAlive: async (key: string): Promise<boolean> => (await ask('GET', '/api/me', { key })).status === 200,
  };
}

/** Returns the recovery code at that index (0 to 7). */
export function codeOf({ codes }: { codes: readonly string[] }, index: number): string {
  const code = codes[index];
  if (code === undefined) throw new Error(`there is no code ${index}`);
  return code;
}
