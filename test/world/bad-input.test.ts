import sql from 'sql-template-tag';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ERRORS, endpoints, type Reason } from '../../src/contract/index.ts';
import { UPLOAD_PATH } from '../../src/contract/uploads.ts';
import { BODY_LIMIT_BYTES, HEADER_LIMIT_BYTES } from '../../src/contract/vocabulary.ts';
import { countRows } from '../support/database.ts';
import { type Member, startWorld, type World } from '../support/market-world.ts';
import { fieldNames, pathOf, type Sample, sampleRequests, sendingOf } from '../support/sample-requests.ts';
import { removeListing, seedListing, withdrawListing } from '../support/seed.ts';
import { CANARY, expectDeclared, expectRefusal, type Sending, type SentAnswer, send } from '../support/send.ts';

let world: World;
let maintainer: Member;
let owner: Member;
let member: Member;
let rows: Record<string, bigint>;

const AT = { listingId: 1n, handle: 'seller-one', endedId: 3n };
const samples = sampleRequests(AT);
const withBody = samples.flatMap((sample) =>
  sample.bodies.map((body) => ({ ...sample, body, form: `${sample.name} ${body.fields['action'] ?? ''}`.trim() })),
);

beforeAll(async () => {
  world = await startWorld({
    // No city listens here.
    cityUrl: 'http://127.0.0.1:1',
    limits: {
      guard_runs_per_merchant_day: 100_000,
      confirm_per_ip_hour: 100_000,
      recovery_starts_per_ip_hour: 100_000,
    },
  });
  maintainer = await world.join('the-keeper');
  owner = await world.join(AT.handle);
  member = await world.join('buyer-one');
  const { database } = world.db;
  for (const n of [1, 2, 3]) await seedListing(database, owner.id, { artifact: `${CANARY} ${n}` });
  await withdrawListing(database, AT.endedId);
  await removeListing(database, AT.endedId);
  await database.run(sql`
    insert into votes (listing_id, merchant_id, created_at) values (${AT.listingId}, ${member.id}, now())`);
  // Insert the rows that the samples would create, so that sending a sample changes no row.
  await database.run(sql`
    insert into comments (id, listing_id, merchant_id, body, created_at)
    values (1, ${AT.listingId}, ${member.id}, 'a comment', now())`);
  await database.run(sql`
    insert into flags (merchant_id, listing_id, reason, created_at)
    values (${member.id}, ${AT.listingId}, 'a reason', now())`);
  await database.run(sql`
    update merchants set store_line = 'What it sells', city_handle = 'resident-one' where id = ${member.id}`);
  await world.running.eventsSettled();
});
afterAll(() => world?.stop());
beforeEach(async () => {
  rows = await countRows(world.db.database);
});
afterEach(async () => {
  expect(await countRows(world.db.database)).toEqual(rows);
});

async function ask(sample: Sample, changed: Sending = {}, query = ''): Promise<SentAnswer> {
  const sending = { ...sendingOf(sample, member, { owner, maintainer }), ...changed };
  return expectDeclared(sample.endpoint, await send(world.url, sample.endpoint.method, sample.path + query, sending));
}

function pathsIn(problem: Record<string, unknown>): string[] {
  return (problem['errors'] as { path: string }[]).map(({ path }) => path.split('.')[0] ?? '');
}

const OPEN_QUERIES = new Set(['q', 'tag', 'seller', 'max_price_usdc', 'verified_sales_min', 'license']);

/** Fields where null is valid and removes the value. */
const MAY_BE_NULL = new Set(['linkCity.city_handle', 'editListing.license']);

/**
 * Refusals that come from the operation itself, because the request is well formed but names an unknown id or would change a fixed field.
 */
const BY_THE_ACT: Record<string, Reason> = {
  editListing: 'field_fixed',
  appealRemoval: 'not_removed',
  removeComment: 'not_found',
  removeText: 'not_found',
  decideAppeal: 'not_found',
  openPurchaseIntent: 'own_goods',
  claimPurchase: 'intent_not_found',
  openFeeIntent: 'fee_not_due',
  reviewPayment: 'payment_not_found',
  rotate: 'key_required',
  recovery: 'recovery_code_refused',
  draftWorld: 'city_unavailable',
  getWorldDraft: 'not_found',
  cancelWorldDraft: 'not_found',
  listWorld: 'not_found',
  checkoutWorld: 'not_world_listing',
  getWorldCheckout: 'not_found',
  syncWorld: 'not_world_listing',
  revokeGrant: 'not_found',
};

describe('the samples of this test', () => {
  it('are good, so that a refusal below is for the one thing that was changed', async () => {
    for (const sample of samples.filter(({ name }) => !['register', 'pair', 'getPayment'].includes(name))) {
      const { status, text } = await ask(sample);
      const only = BY_THE_ACT[sample.name];
      expect(only === undefined ? [200, 402] : [ERRORS[only].status], `${sample.name} ${text}`).toContain(status);
      if (only !== undefined) expect(JSON.parse(text)).toMatchObject({ reason: only });
    }
  });

  it('name every endpoint and every field of every body', () => {
    expect(samples.map(({ name }) => name)).toEqual(Object.keys(endpoints));
    for (const { name, endpoint, bodies } of samples) {
      const named = bodies.map(({ fields, omitted }) => Object.keys({ ...fields, ...omitted }).sort());
      expect(named, name).toEqual(fieldNames(endpoint.body).map((fields) => fields.sort()));
    }
  });
});

/** Drops parameter names, because another method may name the same path segment differently. */
const formOf = (path: string): string => path.replaceAll(/:\w+/g, ':');

/** Uploads begin by another protocol, which no sample speaks. */
const BEGINS_UPLOADS = `POST ${UPLOAD_PATH}`;

describe.each(samples)('$name refuses', (sample) => {
  const { endpoint, path } = sample;

  it('methods that its address does not take, and says which it takes', async () => {
    const taken = samples
      .filter((other) => formOf(other.endpoint.path) === formOf(endpoint.path))
      .map((other) => other.endpoint.method);
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND']) {
      if (taken.some((name) => name === method) || `${method} ${path}` === BEGINS_UPLOADS) continue;
      const answer = await send(world.url, method, path);
      expectRefusal(answer, 'method_not_allowed');
      expect(answer.headers.get('allow')?.split(', ')).toEqual(expect.arrayContaining(taken));
    }
  });

  it('addresses that differ from its own', async () => {
    for (const address of [
      `${path}/`,
      `${path}/more/still`,
      `/x${path}`,
      path.toUpperCase(),
      path.replace('/', '//'),
    ]) {
      expectRefusal(
        await send(world.url, endpoint.method, address, sendingOf(sample, member, { owner, maintainer })),
        'not_found',
      );
    }
  });

  it('ids and names in the path that can be none', async () => {
    const params = [...endpoint.path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '');
    for (const param of params) {
      for (const value of [
        '0',
        '-1',
        '1.5',
        '1e1',
        '+1',
        '01',
        '0x1',
        'x'.repeat(65),
        '%00',
        '9'.repeat(17),
        '%E2%80%AE',
      ]) {
        const at = pathOf(endpoint, { [param]: value });
        expectRefusal(
          await send(world.url, endpoint.method, at, sendingOf(sample, member, { owner, maintainer })),
          'not_found',
        );
      }
      const broken = pathOf(endpoint, { [param]: '%ZZ' });
      expectRefusal(
        await send(world.url, endpoint.method, broken, sendingOf(sample, member, { owner, maintainer })),
        'malformed_request',
      );
    }
  });

  it('query parameters that it does not know, that come twice, or that cannot be', async () => {
    expect(pathsIn(expectRefusal(await ask(sample, {}, '?surely_unknown=1'), 'unexpected_fields'))).toEqual([
      'surely_unknown',
    ]);
    expectRefusal(await ask(sample, {}, '?a=1&a=2'), 'invalid_query');
    expectRefusal(await ask(sample, {}, '?a=%ZZ'), 'invalid_query');
    for (const name of fieldNames(endpoint.query).flat()) {
      expectRefusal(await ask(sample, {}, `?${name}=1&${name}=1`), 'invalid_query');
      for (const value of ['', '-1', '0', '1.0', '1e1', '01', '%00', '%E2%80%AE', '9'.repeat(40), 'no such thing']) {
        const answer = await ask(sample, {}, `?${name}=${value.replaceAll(' ', '+')}`);
        // These query fields accept any text, and some of the inputs are valid prices, counts or tags.
        if (OPEN_QUERIES.has(name) && answer.status === 200) continue;
        const problem = expectRefusal(answer);
        expect(['invalid_query', 'cursor_invalid'], `${name}=${value}`).toContain(problem['reason']);
      }
    }
  });

  it('more than 16,000 bytes of headers', async () => {
    expectRefusal(await ask(sample, { headers: { 'x-filler': 'a'.repeat(HEADER_LIMIT_BYTES) } }), 'headers_too_large');
  });

  it('a body that is too large, or one where none belongs', async () => {
    const limit = endpoint.body_limit ?? BODY_LIMIT_BYTES;
    const length = (bytes: number) => ({ headers: { 'content-length': String(bytes) } });
    if (endpoint.body) expectRefusal(await ask(sample, { body: 'x', ...length(limit + 1) }), 'body_too_large');
    else expectRefusal(await ask(sample, { body: '{}' }), 'malformed_request');
    if (endpoint.body) expectRefusal(await ask(sample, { body: `"${'a'.repeat(limit - 2)}"` }), 'malformed_json');
  });
});

describe.each(withBody)('the body of $form', (sample) => {
  const { fields, opaque } = sample.body;
  const text = JSON.stringify(fields);
  const name = Object.keys(fields)[0] ?? '';
  const put = (field: string, value: unknown) => ask(sample, { body: { ...fields, [field]: value } });

  it('is one JSON object in UTF-8 without repeated keys', async () => {
    const twice = `{${JSON.stringify(name)}:${JSON.stringify(fields[name])},${text.slice(1)}`;
    const escaped = twice.replace(`"${name}"`, `"\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}"`);
    const bad: unknown[] = ['nonsense', '[]', 'null', '"text"', '1', '{', `${text}x`, `${text}${text}`, twice, escaped];
    bad.push(`${text.slice(0, -1)},}`, text.replaceAll(/"|\}$/g, "'"), `\ufeff${text}`, `{"a":${'['.repeat(10_000)}`);
    bad.push(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), `{"__proto__":{},${text.slice(1)}`, '{"a":NaN}');
    bad.push(Buffer.from(text, 'utf16le'), text.replace('{', '{/* */'));
    for (const body of bad) expectRefusal(await ask(sample, { body }), 'malformed_json');
    if (!sample.endpoint.body_optional) expectRefusal(await ask(sample, { body: '' }), 'malformed_json');
  });

  it('is application/json without an encoding', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=utf-16',
      'json',
    ]) {
      expectRefusal(await ask(sample, { headers: { 'content-type': type } }), 'unsupported_media_type');
    }
    expectRefusal(await ask(sample, { headers: { 'content-encoding': 'gzip' } }), 'unsupported_media_type');
  });

  it('has no field that is not known', async () => {
    for (const field of ['surely_unknown', 'constructor', `${name} `, name.toUpperCase(), '']) {
      const problem = expectRefusal(await put(field, 1), 'unexpected_fields');
      expect(pathsIn(problem)).toEqual([field]);
    }
  });

  it.each(Object.keys(fields))('has %s only in its own type, and where it is needed', async (field) => {
    const strangers = ['text', '1', 'true', 1, true, null, {}, [], [[]]];
    for (const value of strangers.filter((each) => typeof each !== typeof fields[field] || each === null)) {
      if (value === null && MAY_BE_NULL.has(`${sample.name}.${field}`)) continue;
      if (Array.isArray(value) && Array.isArray(fields[field])) continue;
      expectAt(await put(field, value), field);
    }
    const { [field]: _, ...without } = fields;
    if (sample.endpoint.body?.safeParse(without).success) return;
    const isRetired = field === 'action' && sample.name !== 'recovery';
    const reason = isRetired ? 'retired_flow' : 'invalid_fields';
    expectRefusal(await ask(sample, { body: without }), reason);
  });

  it.each(textsOf(fields))('has %s only as text of its length, without what hides or reorders', async (field) => {
    // This is longer than any text field allows, but within the body limit.
    const long = await put(field, 'a'.repeat(sample.endpoint.body_limit === undefined ? 60_000 : 300_000));
    // Every text that is not an active recovery code gets the same refusal.
    if (field === 'recovery_code') expectRefusal(long);
    else expectAt(long, field);
    for (const character of [
      '\u0000',
      '\u0007',
      '\u001b',
      '\u007f',
      '\u200b',
      '\u202e',
      '\u2066',
      '\ufeff',
      '\u{e0041}',
    ]) {
      const answer = await put(field, `${fields[field]}${character}`);
      if (!opaque.includes(field)) expectAt(answer, field);
      else expectRefusal(answer);
    }
    if (!opaque.includes(field)) expectAt(await ask(sample, { body: withLoneSurrogate(fields, field) }), field);
  });

  it.each(numbersOf(fields))('has %s only as a plain number, of at most 6 decimals or whole', async (field) => {
    const before = JSON.stringify({ ...fields, [field]: 'HERE' });
    for (const spelled of [
      '2.1234567',
      '0.0000001',
      '1e1',
      '1E-1',
      '+1',
      '01',
      '.5',
      '1.',
      '0x1',
      '-0',
      'NaN',
      '1e999',
    ]) {
      expectRefusal(await ask(sample, { body: before.replace('"HERE"', spelled) }), 'malformed_json');
    }
    for (const spelled of ['-1', '-0.5', '1_000']) {
      expectRefusal(await ask(sample, { body: before.replace('"HERE"', spelled) }));
    }
    const beyond = field.endsWith('_usdc') ? ['10000.000001', '10001'] : ['0', '1.5'];
    for (const spelled of beyond) {
      expectAt(await ask(sample, { body: before.replace('"HERE"', spelled) }), field);
    }
  });
});

function textsOf(fields: Record<string, unknown>): string[] {
  return Object.keys(fields).filter((field) => typeof fields[field] === 'string');
}
function numbersOf(fields: Record<string, unknown>): string[] {
  return Object.keys(fields).filter((field) => typeof fields[field] === 'number');
}
function withLoneSurrogate(fields: Record<string, unknown>, field: string): string {
  return JSON.stringify({ ...fields, [field]: 'HERE' }).replace('HERE', 'a\\ud800b');
}

function expectAt(answer: SentAnswer, field: string): void {
  expect(pathsIn(expectRefusal(answer, 'invalid_fields')), answer.text.slice(0, 300)).toContain(field);
}

describe('a listing', () => {
  const sample = samples.find(({ name }) => name === 'createListing');
  const list = (changes: Record<string, unknown>) => {
    if (sample === undefined) throw new Error('no sample of a listing');
    return ask(sample, { body: { ...sample.bodies[0]?.fields, ...changes } });
  };

  it.each([
    ['a mixed-case address with a wrong checksum', 'seller_wallet', '0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
    ['an address in upper case', 'seller_wallet', `0x${'A'.repeat(40)}`],
    ['an address of 19 bytes', 'seller_wallet', `0x${'a'.repeat(38)}`],
    ['an address without 0x', 'seller_wallet', 'a'.repeat(40)],
    ['an address with a space', 'seller_wallet', ` 0x${'a'.repeat(40)}`],
    ['a name service name', 'seller_wallet', 'seller.eth'],
    ['a short title', 'title', 'ab'],
    ['a blank title', 'title', '     '],
    ['a title with a newline', 'title', 'one\ntwo'],
    ['nine tags', 'tags', ['1', '2', '3', '4', '5', '6', '7', '8', '9']],
    ['a tag twice', 'tags', ['one', 'one']],
    ['a tag in capitals', 'tags', ['One']],
    ['an unknown aisle', 'aisle', 'nowhere'],
    ['an empty artifact', 'artifact', ''],
    ['an artifact of one byte more than allowed', 'artifact', 'a'.repeat(262_145)],
    ['an artifact whose characters are few and bytes many', 'artifact', 'é'.repeat(131_073)],
    ['a file name that climbs', 'artifact_filename', '../goods.txt'],
    ['a media type with a line break', 'artifact_media_type', 'text/plain\r\nx: y'],
  ])('with %s is refused', async (_, field, value) => {
    expectAt(await list({ [field]: value }), field);
  });

  it.each(['a', 'YQ', 'YQ=', 'YR==', 'Y Q==', 'YQ==\n', '_w==', '%%%%', '===='])(
    'in base64 is not spelled %j',
    async (artifact) => {
      expectAt(await list({ artifact, artifact_encoding: 'base64' }), 'artifact');
    },
  );

  it('that is text of half a character is refused, and one of control characters is goods like any other', async () => {
    const half = JSON.stringify({ ...sample?.bodies[0]?.fields, artifact: 'HERE' }).replace('HERE', 'a\\ud800b');
    if (sample) expectAt(await ask(sample, { body: half }), 'artifact');
    expectRefusal(await list({ artifact: '\u0000\u202e\u{e0041}' }), 'payment_required');
  });
});

it('a payer whose address is mistyped is not looked up', async () => {
  const sample = samples.find(({ name }) => name === 'getPayment');
  if (sample === undefined) throw new Error('no sample of a payment');
  for (const payer of ['0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', `0x${'A'.repeat(40)}`, `0x${'a'.repeat(39)}`]) {
    const problem = expectRefusal(await ask(sample, {}, `?payer=${payer}&nonce=0x${'1'.repeat(64)}`), 'invalid_query');
    expect(pathsIn(problem)).toEqual(['payer']);
  }
  const right = `?payer=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed&nonce=0x${'1'.repeat(64)}`;
  expectRefusal(await ask(sample, {}, right), 'payment_not_found');
});

it('an address that leads nowhere is 404 for every method', async () => {
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'TRACE']) {
    const paths = ['/api', '/api/', '/api/nothing', '/api/buy', '/.env', '/api/listing/1/artifact', '/api/..%2fme'];
    for (const path of paths) expectRefusal(await send(world.url, method, path), 'not_found');
  }
});
