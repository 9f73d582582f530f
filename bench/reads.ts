import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { systemRandom } from '../src/platform/random.ts';
import { load, median, type Slice } from './load.ts';
import { SEEDED_AISLES } from './seed.ts';
import { READ_CONNECTIONS, WARM_UP_SECONDS } from './settings.ts';
import type { StaticOrder } from './static-server.ts';
import { askOnce, openWire, requestBytes } from './wire.ts';

export interface ReadOutcome {
  route: string;
  bytesPerBody: number;
  market: { perSecond: number; rounds: number[]; clientShare: number; machineShare: number };
  static: { perSecond: number; rounds: number[]; clientShare: number; machineShare: number };
  /** Median of the rounds' ratios of market to static server. */
  ratio: number;
}

interface Target {
  route: string;
  paths: string[];
  /** Some thousand random requests, the same for market and static server. */
  drawn: string[];
}

const DRAWN = 4_096;
const STATIC_SERVER = fileURLToPath(new URL('./static-server.ts', import.meta.url));

/** Measures market and static server in turn, so that other work on the machine affects both. */
export async function measureReads(
  marketUrl: string,
  given: { listings: number; seconds: number; rounds: number },
  tell: (line: string) => void,
): Promise<ReadOutcome[]> {
  const targets = [listingTarget(given.listings), await shelvesTarget(marketUrl)];
  tell(
    `reading ${targets.map(({ paths }) => paths.length).join(' listings and ')} pages of shelves for the static server`,
  );
  await using begun = new AsyncDisposableStack();
  const staticServer = await startStaticServer({ marketUrl, paths: targets.flatMap(({ paths }) => paths) });
  begun.defer(staticServer.stop);
  const urls = { market: marketUrl, static: staticServer.url };
  const outcomes: ReadOutcome[] = [];
  for (const target of targets) {
    const run = (side: keyof typeof urls, seconds: number): Promise<Slice> =>
      load(
        urls[side],
        target.drawn.map((path) => requestBytes(urls[side], { method: 'GET', path })),
        { connections: READ_CONNECTIONS, seconds },
      );
    tell(`${target.route}: warming up`);
    for (const side of ['market', 'static'] as const) await run(side, WARM_UP_SECONDS);
    const rounds: Round[] = [];
    for (let round = 0; round < given.rounds; round += 1) {
      const order = round % 2 === 0 ? (['market', 'static'] as const) : (['static', 'market'] as const);
      const slices: Partial<Round> = {};
      for (const side of order) slices[side] = await run(side, given.seconds);
      if (slices.market === undefined || slices.static === undefined) throw new Error('half a round');
      rounds.push({ market: slices.market, static: slices.static });
      const [market, fixed] = [slices.market.perSecond, slices.static.perSecond].map(Math.round);
      tell(`${target.route}: round ${round + 1} of ${given.rounds}: ${market}/s, ${fixed}/s static`);
    }
    outcomes.push(outcomeOf(target.route, rounds));
  }
  return outcomes;
}

interface Round {
  market: Slice;
  static: Slice;
}

function outcomeOf(route: string, rounds: readonly Round[]): ReadOutcome {
  const side = (name: keyof Round) => ({
    perSecond: median(rounds.map((round) => round[name].perSecond)),
    rounds: rounds.map((round) => round[name].perSecond),
    clientShare: median(rounds.map((round) => round[name].clientShare)),
    machineShare: median(rounds.map((round) => round[name].machineShare)),
  });
  return {
    route,
    bytesPerBody: median(rounds.map((round) => round.market.bytesPerRequest)),
    market: side('market'),
    static: side('static'),
    ratio: median(rounds.map((round) => round.market.perSecond / round.static.perSecond)),
  };
}

function pick<T>(from: readonly T[]): T {
  const one = from[systemRandom.int(from.length)];
  if (one === undefined) throw new Error('nothing to pick from');
  return one;
}

function listingTarget(listings: number): Target {
  const paths = Array.from({ length: listings }, (_, index) => `/api/listing/${index + 1}`);
  return { route: 'GET /api/listing/:id', paths, drawn: Array.from({ length: DRAWN }, () => pick(paths)) };
}

/** Draws a random page of a random aisle, or of all aisles. Reads every shelf to its end once beforehand. */
async function shelvesTarget(url: string): Promise<Target> {
  const wire = await openWire(url, { keepBody: true });
  const aisles: string[][] = [];
  for (const query of ['', ...SEEDED_AISLES.map((aisle) => `aisle=${aisle}`)]) {
    const pages: string[] = [];
    for (let cursor: unknown = ''; typeof cursor === 'string'; ) {
      const asked = [query, cursor === '' ? '' : `cursor=${cursor}`].filter((part) => part !== '').join('&');
      const path = asked === '' ? '/api/shelves' : `/api/shelves?${asked}`;
      pages.push(path);
      cursor = (await askOnce(wire, url, { method: 'GET', path }))['next_cursor'];
    }
    aisles.push(pages);
  }
  wire.close();
  const drawn = Array.from({ length: DRAWN }, () => pick(pick(aisles)));
  return { route: 'GET /api/shelves', paths: aisles.flat(), drawn };
}

async function startStaticServer(order: StaticOrder): Promise<{ url: string; stop(): void }> {
  const child = fork(STATIC_SERVER, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  child.send(order);
  const [answer] = (await Promise.race([once(child, 'message'), once(child, 'exit').then(() => [null])])) as [unknown];
  if (typeof answer !== 'object' || answer === null || !('url' in answer) || typeof answer.url !== 'string') {
    throw new Error('the static server did not start');
  }
  return { url: answer.url, stop: () => void child.kill('SIGTERM') };
}
