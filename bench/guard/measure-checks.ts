import sql from 'sql-template-tag';
import { fingerprintOf } from '../../src/market/listings/near/fingerprint.ts';
import { findAlike } from '../../src/market/listings/near/store.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { diceFor } from '../catalog/dice.ts';
import type { Texts } from './texts.ts';

export interface Times {
  p50_ms: number;
  p99_ms: number;
  max_ms: number;
}

export interface CheckOutcome {
  kind: string;
  probes: number;
  /** Number of probes that found a near duplicate. */
  refused: number;
  /** Time of fingerprint and lookup, as a request waits for them. */
  whole: Times;
  shape: Times;
  /** Time of a bare `select 1` right before each probe, on the same connection. */
  round_trip: Times;
}

const WITHDRAWN_SINCE_MS = 7 * 86_400_000;
/** Kinds of new goods, and how many of ten probes each has on average. */
const KINDS = [
  ['unlike any other', 5],
  ['fills in a form that twenty fill in', 2],
  ['fills in the form of a hundredth of all', 1],
  ['a copy of a listing, one word changed', 2],
] as const;
type Kind = (typeof KINDS)[number][0];

interface Taken {
  kind: Kind;
  refused: boolean;
  wholeMs: number;
  shapeMs: number;
  roundTripMs: number;
}

export interface CheckOrder {
  url: string;
  listings: number;
  probes: number;
  seed: number;
  texts: Texts;
  nowMs: number;
  signal: AbortSignal;
}

export async function measureChecks(order: CheckOrder): Promise<CheckOutcome[]> {
  const database = await openDatabase({ url: order.url, poolSize: 1, applicationName: 'openaisle-bench-guard' });
  try {
    const taken: Taken[] = [];
    for (const [kind, content] of probesOf(order)) {
      order.signal.throwIfAborted();
      taken.push(await checkOne(database, kind, content, order.nowMs));
    }
    return [
      outcomeOf('all', taken),
      ...KINDS.map(([kind]) =>
        outcomeOf(
          kind,
          taken.filter((one) => one.kind === kind),
        ),
      ),
    ];
  } finally {
    await database.close();
  }
}

/** Builds the probes in random order before the timing starts. */
function probesOf({ probes, seed, listings, texts }: CheckOrder): [Kind, Buffer][] {
  const dice = diceFor(seed, 'probes');
  const kinds = KINDS.flatMap(([kind, share]) => Array.from({ length: share }, () => kind));
  return Array.from({ length: probes }, (_, n) => {
    const kind = dice.pick(kinds);
    return [kind, Buffer.from(goodsOf(kind, `probe ${n}`, texts, 1 + dice.int(listings)).join(' '))];
  });
}

function goodsOf(kind: Kind, name: string, texts: Texts, id: number): string[] {
  switch (kind) {
    case 'unlike any other':
      return texts.fresh(name);
    case 'fills in a form that twenty fill in':
      return texts.sibling('family', name);
    case 'fills in the form of a hundredth of all':
      return texts.sibling('crowd', name);
    case 'a copy of a listing, one word changed':
      return texts.edited(texts.ofListing(id), { share: 0, inBlock: false }, name);
  }
}

async function checkOne(database: Database, kind: Kind, content: Buffer, nowMs: number): Promise<Taken> {
  const before = performance.now();
  await database.one(sql`select 1`);
  const begin = performance.now();
  const shape = fingerprintOf(content);
  const shaped = performance.now();
  const withdrawnSince = new Date(nowMs - WITHDRAWN_SINCE_MS);
  const alike = shape && (await findAlike(database, shape, { exempt: [], withdrawnSince }));
  const end = performance.now();
  return {
    kind,
    refused: alike !== null,
    wholeMs: end - begin,
    shapeMs: shaped - begin,
    roundTripMs: begin - before,
  };
}

function outcomeOf(kind: string, taken: readonly Taken[]): CheckOutcome {
  return {
    kind,
    probes: taken.length,
    refused: taken.filter(({ refused }) => refused).length,
    whole: timesOf(taken.map(({ wholeMs }) => wholeMs)),
    shape: timesOf(taken.map(({ shapeMs }) => shapeMs)),
    round_trip: timesOf(taken.map(({ roundTripMs }) => roundTripMs)),
  };
}

function timesOf(times: readonly number[]): Times {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0;
  return { p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1) };
}
