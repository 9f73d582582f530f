import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CrashPoint } from '../../src/market/context.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { KillSwitch, Wire } from './kill-postgres.ts';
import { KilledAtStart, type MarketProcess } from './market-process.ts';
import type { Answer, AskOptions } from './market-world.ts';

interface KillHttp {
  url: string;
  close(): Promise<void>;
}

/** Forwards requests unchanged and springs the trap when its method or path appears. */
export async function startKillHttp(
  target: string,
  wire: Exclude<Wire, 'database'>,
  trap: KillSwitch,
): Promise<KillHttp> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const body = Buffer.concat(chunks);
    const marks = wire === 'chain' ? methodsIn(body) : [request.url ?? ''];
    const meets = (when: 'before' | 'after'): boolean => marks.some((mark) => trap.meets(wire, mark) === when);
    if (meets('before') && trap.spring()) {
      response.destroy();
      return;
    }
    const answered = await fetch(new URL(request.url ?? '/', target), {
      method: request.method ?? 'POST',
      headers: { 'content-type': 'application/json' },
      ...(body.length === 0 ? {} : { body }),
    });
    const text = await answered.text();
    if (meets('after') && trap.spring()) {
      response.destroy();
      return;
    }
    response.writeHead(answered.status, { 'content-type': 'application/json' }).end(text);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function methodsIn(body: Buffer): string[] {
  const asked = JSON.parse(body.toString('utf8')) as { method: string } | { method: string }[];
  return [asked].flat().map(({ method }) => method);
}

/** Time for the market's death to be noticed before a broken request counts as an error. */
const DEATH_MS = 20_000;
/** Limit against endless retries, more than any test needs. */
const MAX_DEATHS_OF_A_REQUEST = 1_000;

/** A market that is restarted each time it is killed. */
export interface LivingMarket {
  /** Repeats the same request until a market lives long enough to answer, as a client would. */
  ask(method: string, path: string, asked?: AskOptions): Promise<Answer>;
  current(): Promise<MarketProcess>;
  deaths(): number;
  /** Resolves after that many kills; rejects after `limitMs`. */
  died(deaths: number, limitMs: number): Promise<void>;
  /** Makes the next process kill itself at that point. */
  replaceBy(crashAt: CrashPoint): Promise<void>;
  stop(): Promise<void>;
}

export async function startLivingMarket(
  start: (crashAt?: CrashPoint) => Promise<MarketProcess>,
): Promise<LivingMarket> {
  let deaths = 0;
  let isStopping = false;
  let change = Promise.withResolvers<void>();
  let serving: Promise<MarketProcess>;
  const changed = (): void => {
    change.resolve();
    change = Promise.withResolvers();
  };
  const raise = async (crashAt?: CrashPoint): Promise<MarketProcess> => {
    const raised = await start(crashAt).catch(nullIfKilled);
    if (raised === null) {
      deaths += 1;
      changed();
      return await raise(next());
    }
    void raised.ended.then((signal) => {
      if (isStopping) return;
      // Don't count a process that exited on its own as killed.
      if (signal === 'SIGKILL') deaths += 1;
      serving = signal === 'SIGKILL' ? raise(next()) : Promise.reject(endedByItself(raised, signal));
      serving.catch(() => {});
      changed();
    });
    return raised;
  };
  let following: CrashPoint | undefined;
  const next = (): CrashPoint | undefined => {
    const taken = following;
    following = undefined;
    return taken;
  };
  serving = raise();
  await serving;
  const died = async (wanted: number, limitMs: number): Promise<void> => {
    const impatient = new AbortController();
    const late = systemClock.sleep(limitMs, impatient.signal).then(() => 'late' as const);
    while (deaths < wanted) {
      if ((await Promise.race([change.promise, late])) !== 'late') continue;
      throw new Error(`no process was killed within ${limitMs} ms`);
    }
    impatient.abort();
  };
  return {
    ask: (...request) => askUntilAnswered(() => serving, request),
    current: () => serving,
    deaths: () => deaths,
    died,
    replaceBy: async (crashAt) => {
      const before = deaths;
      following = crashAt;
      (await serving).kill();
      await died(before + 1, DEATH_MS);
      await serving;
    },
    stop: async () => {
      isStopping = true;
      await (await serving).stop();
    },
  };
}

async function askUntilAnswered(
  serving: () => Promise<MarketProcess>,
  [method, path, asked]: Parameters<MarketProcess['ask']>,
): Promise<Answer> {
  for (let attempt = 0; attempt < MAX_DEATHS_OF_A_REQUEST; attempt += 1) {
    const market = await serving();
    const answer = await market.ask(method, path, asked).catch((error: unknown) => ({ error }));
    if (!('error' in answer)) return answer;
    const ended = market.ended.then(() => true);
    if (await Promise.race([ended, systemClock.sleep(DEATH_MS).then(() => false)])) continue;
    throw new Error(`${method} ${path} was broken off by a market that lives`, { cause: answer.error });
  }
  throw new Error(`${method} ${path}: ${MAX_DEATHS_OF_A_REQUEST} markets died under one request`);
}

function nullIfKilled(error: unknown): null {
  if (error instanceof KilledAtStart) return null;
  throw error;
}

function endedByItself({ output }: MarketProcess, signal: string | null): Error {
  return new Error(`the market ended by itself (${signal}):\n${output.slice(-20).join('\n')}`);
}
