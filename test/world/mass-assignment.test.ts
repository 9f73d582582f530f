import { raw } from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import type { Database } from '../../src/platform/database/database.ts';
import { marketDocument } from '../support/market-document.ts';
import { type Member, startWorld, type World } from '../support/market-world.ts';
import { type Sample, sampleRequests, sendingOf } from '../support/sample-requests.ts';
import { seedListing, seedVote, withdrawListing } from '../support/seed.ts';
import { expectRefusal, send } from '../support/send.ts';

const document = marketDocument();

/** Returns every field name that occurs in an answer or refusal. */
function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inside]) => [
    ...(key === 'properties' ? Object.keys(inside as object) : []),
    ...namesIn(inside),
  ]);
}

const answers = Object.values(document.paths).flatMap((path) => Object.values(path).map(({ responses }) => responses));
/** Column names that no answer contains. */
const COLUMNS = ['merchant_id', 'fee_id', 'price_units', 'body_hash', 'is_maintainer', 'wallet_kind', 'key_hash'];
const NAMES = [...new Set([...namesIn(answers), ...namesIn(document['components']), ...COLUMNS])].sort();

/** Small enough for the limits on query parameters and on the number of names that an answer lists. */
const AT_ONCE = 20;
const inTurn = (names: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(names.length / AT_ONCE) }, (_, at) => names.slice(at * AT_ONCE, (at + 1) * AT_ONCE));

const AT = { listingId: 1n, handle: 'seller-one', endedId: 2n };
const samples = sampleRequests(AT);
const writes = samples.filter(({ endpoint }) => endpoint.method !== 'GET');
const withBody = writes.flatMap((sample) =>
  sample.bodies.map((body) => ({ ...sample, body, form: `${sample.name} ${body.fields['action'] ?? ''}`.trim() })),
);

/** Adds own properties with these names, including names special to JavaScript such as `__proto__`. */
function withFields(fields: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  const given = JSON.stringify(fields).slice(1, -1);
  const more = names.map((name) => `${JSON.stringify(name)}:1`);
  return JSON.parse(`{${[...(given === '' ? [] : [given]), ...more].join(',')}}`) as Record<string, unknown>;
}

function foreignTo(body: { fields: Record<string, unknown>; omitted?: Record<string, unknown> }): string[] {
  const known = new Set(Object.keys({ ...body.fields, ...body.omitted }));
  return NAMES.filter((name) => !known.has(name));
}

function unknownIn(schema: z.ZodType | undefined, given: unknown): string[] {
  const issues = schema?.safeParse(given).error?.issues ?? [];
  return issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? issue.keys : []));
}

it('the names are those of the answers', () => {
  expect(NAMES.length).toBeGreaterThan(180);
  for (const name of [
    'id',
    'state',
    'pinned',
    'verified_sales',
    'merchant',
    'maintainer',
    'sales',
    'credits',
    'paid_usdc',
  ]) {
    expect(NAMES).toContain(name);
  }
});

describe.each(withBody)('the body of $form', ({ endpoint, body }) => {
  it('takes no field of an answer that is not its own, each tried alone', () => {
    for (const name of foreignTo(body)) {
      expect(unknownIn(endpoint.body, withFields(body.fields, [name])), name).toEqual([name]);
    }
  });
});

describe('over the line, where nothing changes', () => {
  let world: World;
  let owner: Member;
  let member: Member;
  let maintainer: Member;
  let before: Record<string, string>;

  beforeAll(async () => {
    world = await startWorld();
    maintainer = await world.join('the-keeper');
    owner = await world.join(AT.handle);
    member = await world.join('buyer-one');
    const { database } = world.db;
    for (const title of ['First', 'Second']) await seedListing(database, owner.id, { title });
    await withdrawListing(database, AT.endedId);
    await seedVote(database, AT.listingId, member.id);
    await world.running.eventsSettled();
    before = await hashTables(database);
  });
  afterAll(() => world?.stop());

  const post = async (sample: Sample, body: unknown, query = '') => {
    const sending = sendingOf(sample, member, { owner, maintainer });
    return await send(
      world.url,
      sample.endpoint.method,
      `${sample.path}${query}`,
      body === null ? sending : { ...sending, body },
    );
  };
  const pathsIn = (problem: Record<string, unknown>) =>
    (problem['errors'] as { path: string }[]).map(({ path }) => path);

  it('all of them at once in a body are refused, each by its name', async () => {
    for (const sample of withBody) {
      for (const foreign of inTurn(foreignTo(sample.body))) {
        const answer = await post(sample, JSON.stringify(withFields(sample.body.fields, foreign)));
        expect(pathsIn(expectRefusal(answer, 'unexpected_fields')).sort(), sample.form).toEqual(foreign);
      }
    }
    expect(await hashTables(world.db.database)).toEqual(before);
  });

  it('so are those of an object inside a body', async () => {
    for (const sample of withBody) {
      const inside = Object.entries({ ...sample.body.fields, ...sample.body.omitted }).filter(
        (entry): entry is [string, Record<string, unknown>] => entry[1]?.constructor === Object,
      );
      for (const [field, object] of inside) {
        for (const foreign of inTurn(foreignTo({ fields: object }))) {
          const body = JSON.stringify({ ...sample.body.fields, [field]: withFields(object, foreign) });
          const paths = pathsIn(expectRefusal(await post(sample, body), 'unexpected_fields'));
          expect(paths.sort()).toEqual(foreign.map((name) => `${field}.${name}`).sort());
        }
      }
    }
    expect(await hashTables(world.db.database)).toEqual(before);
  });

  it('so are all of them in a query', async () => {
    for (const sample of writes) {
      const foreign = NAMES.filter((name) => !(sample.name === 'createListing' && name === 'dry_run'));
      for (const names of inTurn(foreign)) {
        const answer = await post(sample, null, `?${names.map((name) => `${name}=1`).join('&')}`);
        expect(pathsIn(expectRefusal(answer, 'unexpected_fields')).sort(), sample.name).toEqual(names);
      }
    }
    expect(await hashTables(world.db.database)).toEqual(before);
  });
});

/** Returns a hash of each table, ignoring the day a key was last used and cached chain and facilitator readings. */
async function hashTables(database: Database): Promise<Record<string, string>> {
  const tables = await database.rows<{ name: string }>(
    raw(`select tablename as name from pg_tables where schemaname = current_schema() and tablename not in
      ('facilitator_signers', 'facilitator_readings', 'chain_watermarks') order by tablename`),
  );
  const hashes = tables.map(
    ({ name }) =>
      `(select md5(coalesce(string_agg(row, '|' order by row), '')) from
        (select (to_jsonb(t) - 'last_used_on')::text as row from "${name}" t) rows) as "${name}"`,
  );
  return database.one<Record<string, string>>(raw(`select ${hashes.join(', ')}`));
}
