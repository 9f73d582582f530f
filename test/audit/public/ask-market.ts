import { BoundMet, readText } from '../bounds.ts';
import { lineOf, shown } from '../print.ts';

/** The market could not be read completely. */
export class MarketUnreadable extends Error {
  override readonly name = 'MarketUnreadable';
}

export interface Asked {
  [parameter: string]: string | number | undefined;
}

export type Answer = { status: 200; body: unknown } | { status: 400 | 404 | 409 | 410; reason: string };

export interface Market {
  /** URL without a trailing slash. */
  baseUrl: string;
  get(path: string, query?: Asked): Promise<Answer>;
  /** Like `get`, but throws on a refusal. Returns only the body. */
  must(path: string, query?: Asked): Promise<unknown>;
  pause(ms: number): Promise<void>;
  /** Waits until no cache on the way can return an answer from before this call. */
  outlastCaches(): Promise<void>;
}

/** Limit for one answer in bytes. A page of fifty listings with the longest texts is smaller. */
const MAX_BYTES = 2_097_152;
/** Timeout for one answer, up to its last byte. */
const ANSWER_MS = 30_000;
/** Total waiting time for all answers. */
const MAX_WAITED_MS = 6 * 3_600_000;
const TRIES = 6;
const LONGEST_PAUSE_SECONDS = 60;
const REFUSALS: readonly number[] = [400, 404, 409, 410];

/** Longer than the market's `max-age` and `stale-while-revalidate` together. */
const CACHED_MS = 7_000;

/** Reads a market as a stranger who does not trust it, within bounded time. */
export function openMarket(url: string, cachedMs = CACHED_MS): Market {
  const baseUrl = readAddress(url);
  let waitedMs = 0;
  const get: Market['get'] = async (path, query = {}) => {
    if (waitedMs > MAX_WAITED_MS) {
      const hours = MAX_WAITED_MS / 3_600_000;
      throw new BoundMet(`the market has kept this audit waiting for ${hours} hours. Try it at another time`);
    }
    const begun = performance.now();
    try {
      return await askPatiently(baseUrl, path, query);
    } finally {
      waitedMs += performance.now() - begun;
    }
  };
  return {
    baseUrl,
    get,
    must: async (path, query) => {
      const answer = await get(path, query);
      if (answer.status === 200) return answer.body;
      throw new MarketUnreadable(`GET ${path} is refused with ${answer.status}: ${answer.reason}`);
    },
    pause,
    outlastCaches: () => pause(cachedMs),
  };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function readAddress(given: string): string {
  const url = URL.parse(given);
  const isPlain = url !== null && [url.username, url.password, url.search, url.hash].every((part) => part === '');
  if (!isPlain || !['http:', 'https:'].includes(url.protocol))
    throw new MarketUnreadable('--market must be an http or https address without credentials, query or fragment');
  return url.href.replace(/\/+$/, '');
}

/** Retries when the market asks to wait, which it may ask of anyone who reads all of it. */
async function askPatiently(baseUrl: string, path: string, query: Asked): Promise<Answer> {
  const url = new URL(baseUrl + path);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
  for (let round = 1; ; round += 1) {
    const answer = await fetchAnswer(url, path);
    const isBusy = answer.status === 429 || answer.status === 503;
    if (!isBusy || round === TRIES) return await readAnswer(answer, path);
    await answer.body?.cancel();
    const asked = Number(answer.headers.get('retry-after') ?? 1);
    await pause(Math.min(LONGEST_PAUSE_SECONDS, asked >= 0 ? asked : 1) * 1_000);
  }
}

async function fetchAnswer(url: URL, path: string): Promise<Response> {
  try {
    const headers = { accept: 'application/json' };
    return await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(ANSWER_MS) });
  } catch (error) {
    throw new MarketUnreadable(`GET ${path}: ${causeOf(error)}`);
  }
}

async function readAnswer(answer: Response, path: string): Promise<Answer> {
  const { status } = answer;
  if (status >= 300 && status < 400) {
    await answer.body?.cancel();
    const to = shown(answer.headers.get('location') ?? undefined);
    throw new MarketUnreadable(`GET ${path} leads to another address, ${to}. Name the market's own with --market`);
  }
  if (status !== 200 && !REFUSALS.includes(status)) {
    await answer.body?.cancel();
    throw new MarketUnreadable(`GET ${path} is answered with ${status}`);
  }
  const body = await readJson(answer, path);
  if (status === 200) return { status, body };
  const reason = typeof body === 'object' && body !== null && 'reason' in body ? body.reason : undefined;
  return {
    status: status as 400 | 404 | 409 | 410,
    reason: typeof reason === 'string' ? lineOf(reason, 60) : 'no reason',
  };
}

async function readJson(answer: Response, path: string): Promise<unknown> {
  let text: string;
  try {
    text = await readText(answer, MAX_BYTES, `GET ${path}`);
  } catch (error) {
    if (error instanceof BoundMet) throw error;
    throw new MarketUnreadable(`GET ${path}: ${causeOf(error)}`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new MarketUnreadable(`GET ${path} is answered with what is no JSON`);
  }
}

/** Returns the cause, because the message `fetch failed` says nothing. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return shown(error);
  if (error.name === 'TimeoutError') return `no whole answer came within ${ANSWER_MS / 1_000} s`;
  return lineOf(error.cause instanceof Error ? error.cause.message : error.message, 200);
}
