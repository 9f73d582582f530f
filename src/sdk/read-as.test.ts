import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { listingSummary, problem } from '../../test/support/market-answers.ts';
import { cityEndpoints } from '../contract/city.ts';
import type { EndpointShape } from '../contract/endpoint.ts';
import { endpoints } from '../contract/index.ts';
import { createClient } from './client.ts';
import { MarketError, UnreadableAnswer } from './errors.ts';
import { readAs } from './read-as.ts';

const MANY = 170_000;
/** Limit of processor time for one answer in milliseconds. Zod alone takes many seconds and gigabytes. */
const MAX_MS = 3_000;
const empty = Array.from({ length: MANY }, () => ({}));
const page = { total: 1, limit: 50, listings: empty };

interface Answered {
  answer: unknown;
  /** Processor time, which load on the machine changes far less than the time that passes. */
  ms: number;
}

async function answeredBy(status: number, body: unknown): Promise<Answered> {
  const type = status < 400 ? 'application/json' : 'application/problem+json';
  const text = JSON.stringify(body);
  const fetch = async () => new Response(text, { status, headers: { 'content-type': type } });
  const client = createClient({ baseUrl: 'https://market.example', environment: { fetch } });
  const before = process.cpuUsage();
  const answer = await client.browseShelves().catch((error: unknown) => error);
  const { user, system } = process.cpuUsage(before);
  return { answer, ms: (user + system) / 1_000 };
}

test('a page of empty listings is refused at the first of them', async () => {
  const { answer: error, ms } = await answeredBy(200, page);
  expect(ms).toBeLessThan(MAX_MS);
  expect(error).toBeInstanceOf(UnreadableAnswer);
  expect(error).toMatchObject({ why: 'unexpected' });
}, 120_000);

test('so is a listing with many faults in a list of its own, whichever form it has', async () => {
  const tags = Array.from({ length: 20 * MANY }, () => 0);
  const { artifact_commitment: _, ...outline } = listingSummary(1);
  for (const listing of [
    { ...listingSummary(1), tags },
    { ...outline, tags },
  ]) {
    const { answer, ms } = await answeredBy(200, { ...page, listings: [listing] });
    expect(answer).toBeInstanceOf(UnreadableAnswer);
    expect(ms).toBeLessThan(MAX_MS);
  }
}, 120_000);

test('so is a refusal with a list of empty errors', async () => {
  const { answer: error, ms } = await answeredBy(400, {
    ...problem('malformed_request'),
    errors: Array.from({ length: 12 * MANY }, () => ({})),
  });
  expect(ms).toBeLessThan(MAX_MS);
  expect(error).not.toBeInstanceOf(MarketError);
  expect(error).toMatchObject({ why: 'not_a_problem' });
}, 120_000);

const item = z.object({ id: z.int(), flags: z.array(z.string()).nullable() });
const shape = z.object({
  items: z.array(item).optional(),
  quotas: z.record(z.string().regex(/^[a-z]+$/), z.object({ used: z.int() })).optional(),
});

test.each([
  [
    {
      items: [
        { id: 1, flags: null },
        { id: 2, flags: ['a', 0, 1] },
      ],
    },
    ['items', 1, 'flags', 1],
  ],
  [
    {
      items: [
        { id: 1, flags: [] },
        { id: '2', flags: [] },
      ],
    },
    ['items', 1, 'id'],
  ],
  [{ items: [null] }, ['items', 0]],
  [{ items: {} }, ['items']],
  [{ quotas: { a: { used: 1 }, b: {}, c: {} } }, ['quotas', 'b', 'used']],
  [{ quotas: { A: { used: 1 } } }, ['quotas', 'A']],
  [null, []],
])('the place of the first fault is told: %j', (value, faultAt) => {
  expect(readAs(shape, value)).toEqual({ faultAt });
});

test('what fits is read as zod reads it', () => {
  const value = { items: [{ id: 1, flags: ['a'], more: 1 }], quotas: { a: { used: 1 } } };
  const read = readAs(shape, value);
  expect(read).toEqual({ data: shape.parse(value) });
  expectTypeOf(read).toExtend<{ data: z.output<typeof shape> } | { faultAt: readonly PropertyKey[] }>();
});

/** Kinds of schemas that `readAs` descends into. Those in PLAIN have no lists. */
const KNOWN = ['object', 'array', 'record', 'union', 'nullable', 'optional', 'default', 'readonly', 'pipe'];
const PLAIN = [
  'string',
  'number',
  'int',
  'boolean',
  'literal',
  'enum',
  'unknown',
  'transform',
  'template_literal',
  'null',
];

function typesIn(schema: z.core.$ZodType, seen = new Set<z.core.$ZodType>(), found = new Set<string>()): Set<string> {
  if (seen.has(schema)) return found;
  seen.add(schema);
  const def = schema._zod.def;
  found.add(def.type);
  // Members of a schema are schemas, or lists or tables of schemas.
  const members = Object.entries(def).filter(([name]) => name !== 'checks');
  const inner = members.flatMap(([, one]: [string, unknown]) =>
    typeof one === 'object' && one !== null && !('_zod' in one) ? Object.values(one) : [one],
  );
  for (const one of inner)
    if (typeof one === 'object' && one !== null && '_zod' in one) typesIn(one as z.core.$ZodType, seen, found);
  return found;
}

test('no answer of the contract has a kind of list that is not walked', () => {
  const all: EndpointShape[] = [...Object.values(endpoints), ...Object.values(cityEndpoints)];
  const types = new Set(all.flatMap(({ answers }) => Object.values(answers).flatMap((one) => [...typesIn(one)])));
  expect([...types].filter((type) => ![...KNOWN, ...PLAIN].includes(type))).toEqual([]);
});
