import sql, { raw } from 'sql-template-tag';
import { describe, expect, test } from 'vitest';
import { CITY_PEPPER, cityContext, seedOffer, seedResident, seedThing } from '../../test/support/city-context.ts';
import { createTestDatabase, severableDatabase, testDatabase } from '../../test/support/database.ts';
import type { Database } from '../platform/database/database.ts';
import { openDatabase } from '../platform/database/open-database.ts';
import { systemRandom } from '../platform/random.ts';
import { makeMerchantKey, makeRecoveryCode } from '../platform/secrets.ts';
import { createCity, type RunningCity } from './create-city.ts';
import { CITY_REASONS } from './pages/index-pages.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';
const HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>';
const db = testDatabase({ site: 'city' });

const cityOn = (database: Database): RunningCity => createCity(cityContext({ database }));
let shared: RunningCity | null = null;
const sharedCity = (): RunningCity => {
  shared ??= cityOn(db.database);
  return shared;
};

interface SentRequest {
  key?: string;
  accept?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

async function ask(method: 'GET' | 'POST', url: string, asked: SentRequest = {}, city = sharedCity()) {
  const answer = await city.http.inject({
    method,
    url,
    headers: {
      ...asked.headers,
      ...(asked.key === undefined ? {} : { authorization: `Bearer ${asked.key}` }),
      ...(asked.accept === undefined ? {} : { accept: asked.accept }),
      ...(asked.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(asked.body === undefined ? {} : { payload: JSON.stringify(asked.body) }),
  });
  return answer;
}

describe('who calls', () => {
  test('a resident’s key opens; none, a market’s and a made-up one are 401', async () => {
    const key = makeMerchantKey(systemRandom, 'city');
    await seedResident(db.database, { handle: 'key-owner', keyHash: CITY_PEPPER.hash(key) });
    const body = { name: 'A lamp' };
    expect((await ask('POST', '/api/thing', { key, body })).statusCode).toBe(201);
    const missing = await ask('POST', '/api/thing', { body });
    expect([missing.statusCode, missing.json().reason]).toEqual([401, 'key_required']);
    for (const prefix of ['aisle', 'city']) {
      const answer = await ask('POST', '/api/thing', { key: makeMerchantKey(systemRandom, prefix), body });
      expect([answer.statusCode, answer.json().reason]).toEqual([401, 'key_invalid']);
      expect(answer.headers['www-authenticate']).toBe('Bearer');
      expect(answer.json().type).toBe('http://127.0.0.1:4022/docs/errors/key_invalid');
    }
  });

  test.each(['aisle', 'city'])('a secret of %s is refused anywhere but in its place', async (prefix) => {
    const secret = makeMerchantKey(systemRandom, prefix);
    const code = makeRecoveryCode(systemRandom, prefix);
    const attempts = [
      // The Kelvin sign becomes a K when the name is stored.
      ask('POST', '/api/thing', { body: { name: `${prefix}_pc_\u212a123P-45674-89AB5` } }),
      ask('POST', '/api/thing', { body: { name: secret } }),
      ask('POST', '/api/thing', { body: { name: code } }),
      ask('GET', `/api/resident/${secret}`),
      ask('GET', `/?q=${secret}`),
      ask('GET', '/api/thing/1', { headers: { 'x-note': secret } }),
      ask('POST', '/api/register', { body: { action: 'cancel', session: secret, csrf: 'x' } }),
      ask('POST', '/api/thing', { key: code, body: { name: 'A lamp' } }),
    ];
    for (const answer of await Promise.all(attempts)) {
      expect([answer.statusCode, answer.json().reason]).toEqual([400, 'secret_in_payload']);
      expect(answer.body).not.toContain(secret);
    }
  });

  test('the public records never look at Authorization', async () => {
    const owner = await seedResident(db.database, { handle: 'public-owner' });
    const id = await seedThing(db.database, owner.id);
    for (const url of [`/api/thing/${id}`, '/api/resident/public-owner']) {
      const answer = await ask('GET', url, { key: 'nonsense' });
      expect(answer.statusCode).toBe(200);
      expect(answer.headers['cache-control']).toBe('public, max-age=1, stale-while-revalidate=5');
    }
  });
});

describe('pages', () => {
  test('what residents wrote is text, on every page, and no page runs a script', async () => {
    const owner = await seedResident(db.database, { handle: 'page-owner' });
    const id = await seedThing(db.database, owner.id, HOSTILE);
    const offerId = await seedOffer(db.database, id);
    for (const url of ['/', `/thing/${id}`, '/resident/page-owner', `/offer/${offerId}`]) {
      const answer = await ask('GET', url, { accept: BROWSER });
      expect([url, answer.statusCode]).toEqual([url, 200]);
      expect(answer.headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy':
          "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      });
      expect(answer.body).toContain('&#60;script&#62;alert(1)');
      expect(answer.body).not.toMatch(/<script|<img src(?!="\/thing\/\d+\/picture\.svg")| style=|<style| on[a-z]+="/);
      for (const [, address] of answer.body.matchAll(/(?:href|src)="(\/[^"#]*)"/g))
        expect([address, (await ask('GET', address ?? '', { accept: BROWSER })).statusCode]).toEqual([address, 200]);
    }
  });

  test('a thing’s page tells its state and how it came to its owners', async () => {
    const [maker, friend] = [
      await seedResident(db.database, { handle: 'page-maker' }),
      await seedResident(db.database, { handle: 'page-friend' }),
    ];
    const id = await seedThing(db.database, maker.id, 'A kite');
    await db.database.transaction(async (tx) => {
      await tx.run(sql`update things set owner_id = ${friend.id} where id = ${id}`);
      await tx.run(
        sql`insert into thing_owners (thing_id, nth, owner_id, owned_from) values (${id}, 2, ${friend.id}, now())`,
      );
    });
    const { body } = await ask('GET', `/thing/${id}`, { accept: BROWSER });
    expect(body).toContain('not for sale');
    expect(body.indexOf('<td>gift</td>')).toBeGreaterThan(0);
    expect(body.indexOf('<td>made it</td>')).toBeGreaterThan(body.indexOf('<td>gift</td>'));
    const offerId = await seedOffer(db.database, id);
    expect((await ask('GET', `/thing/${id}`, { accept: BROWSER })).body).toContain(`<a href="/offer/${offerId}">`);
  });

  test('a picture is kept for ever and can do nothing', async () => {
    const owner = await seedResident(db.database, { handle: 'picture-owner' });
    const id = await seedThing(db.database, owner.id, HOSTILE);
    const answer = await ask('GET', `/thing/${id}/picture.svg`);
    expect(answer.headers).toMatchObject({
      'content-type': 'image/svg+xml; charset=utf-8',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    });
    expect(answer.body).not.toContain('script');
    expect((await ask('GET', '/thing/999999/picture.svg')).statusCode).toBe(404);
  });

  test('what is not there is a page for people and a problem for programs', async () => {
    for (const url of ['/thing/999999', '/thing/x', '/thing/-1', '/resident/unknown', '/offer/999999']) {
      const answer = await ask('GET', url, { accept: BROWSER });
      expect([answer.statusCode, answer.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    }
    for (const url of ['/api/thing/999999', '/nothing', '/docs/errors/listing_closed', '/docs/errors/toString']) {
      const answer = await ask('GET', url);
      expect([url, answer.statusCode, answer.json().reason]).toEqual([url, 404, 'not_found']);
    }
  });

  test('every reason has its page, for people and for programs', async () => {
    expect(CITY_REASONS).toEqual(expect.arrayContaining(['thing_locked', 'offer_reserved', 'method_not_allowed']));
    expect(CITY_REASONS).not.toContain('draft_pending');
    for (const reason of CITY_REASONS) {
      const program = await ask('GET', `/docs/errors/${reason}`);
      expect(program.json()).toMatchObject({ reason });
      const person = await ask('GET', `/docs/errors/${reason}`, { accept: BROWSER });
      expect(person.body).toContain(`<h1>${reason}</h1>`);
    }
    expect((await ask('GET', '/docs/errors')).json().errors).toHaveLength(CITY_REASONS.length);
  });

  test('programs read where they are, and the interface as a document', async () => {
    const front = await ask('GET', '/');
    expect(front.json()).toMatchObject({ name: 'Openaisle city', market: 'http://127.0.0.1:1' });
    expect(front.json().endpoints).toContainEqual(
      expect.objectContaining({ path: '/api/world/offer/:id/claim', key: true }),
    );
    const document = (await ask('GET', '/openapi.json')).json();
    expect(Object.keys(document.paths)).toContain('/api/thing/{id}/give');
    expect(document.servers).toMatchObject([{ url: 'http://127.0.0.1:4022' }]);
  });
});

describe('health', () => {
  test('a process is ready with a database and all its tables, and lives without', async () => {
    expect((await ask('GET', '/healthz')).json()).toMatchObject({ status: 'ok' });
    const ready = await ask('GET', '/readyz');
    expect([ready.statusCode, ready.json()]).toEqual([
      200,
      {
        ...{ status: 'ready', database: 'reachable', migrations: 'complete', writes: 'accepted' },
        ...{ history: 'whole', log_copy: 'none', sweeps_offers: false },
      },
    ]);
  });

  test('a database without the tables is not ready', async () => {
    const bare = await createTestDatabase({ migrated: false });
    const database = await openDatabase({ url: bare.url, allowUnsafe: true });
    const answer = await ask('GET', '/readyz', {}, cityOn(database));
    expect([answer.statusCode, answer.json()]).toEqual([
      503,
      { status: 'not_ready', database: 'reachable', migrations: 'incomplete' },
    ]);
    await database.close();
    await bare.drop();
  });

  test('while the server refuses writes it is not ready, and a write is answered 503 with a time to come again', async () => {
    const key = makeMerchantKey(systemRandom, 'city');
    await seedResident(db.database, { handle: 'late-comer', keyHash: CITY_PEPPER.hash(key) });
    for (const table of ['rate_counters', 'things']) {
      await db.database.run(sql`create or replace function refuse() returns trigger language plpgsql as
        $$ begin raise exception 'on purpose' using errcode = 'disk_full'; end $$`);
      await db.database.run(
        sql`create trigger refuse before insert or update on ${raw(table)} execute function refuse()`,
      );
    }
    const answer = await ask('GET', '/readyz', {}, cityOn(db.database));
    expect([answer.statusCode, answer.json()]).toEqual([
      503,
      { status: 'not_ready', database: 'reachable', migrations: 'complete', writes: 'refused', why: 'disk_full' },
    ]);
    const made = await ask('POST', '/api/thing', { key, body: { name: 'A lamp' } });
    expect([made.statusCode, made.json().reason]).toEqual([503, 'unavailable']);
    expect(Number(made.headers['retry-after'])).toBeGreaterThan(0);
    await db.database.run(sql`drop function refuse cascade`);
  });

  test('while the database is away reads say so, and the process lives', async () => {
    const severable = await severableDatabase(db.url);
    const city = cityOn(severable.database);
    await severable.sever();
    expect((await ask('GET', '/healthz', {}, city)).statusCode).toBe(200);
    expect((await ask('GET', '/readyz', {}, city)).json()).toEqual({ status: 'not_ready', database: 'unreachable' });
    const read = await ask('GET', '/api/thing/1', {}, city);
    expect([read.statusCode, read.json().reason]).toEqual([503, 'unavailable']);
    await city.http.close({ drainMs: 0 });
    await severable.close();
  });
});
