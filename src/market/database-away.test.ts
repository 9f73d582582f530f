import sql, { raw } from 'sql-template-tag';
import { expect, it } from 'vitest';
import { severableDatabase, testDatabase } from '../../test/support/database.ts';
import { marketContext } from '../../test/support/market-context.ts';
import { joinMarket } from '../../test/support/market-world.ts';
import { seedListing } from '../../test/support/seed.ts';
import { PATHS } from './connect/interaction.ts';
import { createMarket } from './create-market.ts';

const db = testDatabase();

/** Makes every insert and update of the table fail with this error code until the returned function is called. */
async function refuseWrites(table: string, code: string): Promise<() => Promise<void>> {
  await db.database.run(
    sql`create or replace function refuse() returns trigger language plpgsql as ${raw(`
    $$ begin raise exception 'on purpose' using errcode = '${code}'; end $$`)}`,
  );
  await db.database.run(sql`create trigger refuse before insert or update on ${raw(table)} execute function refuse()`);
  return async () => void (await db.database.run(sql`drop trigger refuse on ${raw(table)}`));
}

it('while the database is away every read about money says that it shows nothing, also of a key that cannot be looked up', async () => {
  const severable = await severableDatabase(db.url);
  const { http } = createMarket({ ...marketContext({ database: severable.database }) });
  await severable.sever();
  const key = `aisle_sk_${'0'.repeat(49)}`;
  const authorization = { authorization: `Bearer ${key}` };
  for (const url of ['/treasury', `/api/payment?tx_hash=0x${'a'.repeat(64)}`]) {
    const answer = await http.inject({ method: 'GET', url });
    expect([answer.statusCode, answer.json().reason, answer.json().do_not_pay_again]).toEqual([
      503,
      'read_unavailable',
      true,
    ]);
  }
  expect((await http.inject({ method: 'GET', url: '/api/events' })).json().reason).toBe('unavailable');
  // Shelves are still served from memory.
  expect((await http.inject({ method: 'GET', url: '/api/shelves' })).statusCode).toBe(200);
  // A key with a wrong checksum never reaches the database; a right one does.
  expect((await http.inject({ method: 'GET', url: '/api/me', headers: authorization })).statusCode).toBe(401);
  await http.close({ drainMs: 0 });
  await severable.close();
});

it('while the server refuses writes they are answered 503 with a time to come again, by the route and by its tool, and no read is', async () => {
  const seller = await joinMarket(db, 'seller');
  const { id } = await seedListing(db.database, seller.id);
  const voter = await joinMarket(db, 'voter');
  const market = createMarket({ ...marketContext({ database: db.database }) });
  const headers = { authorization: `Bearer ${voter.key}`, accept: 'application/json, text/event-stream' };
  const vote = () =>
    market.http.inject({ method: 'POST', url: '/api/vote', headers, payload: { listing_id: Number(id) } });
  const call = { name: 'vote', arguments: { listing_id: Number(id) } };
  const payload = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call };
  for (const code of ['53100', '53200', '57000', '58030', '25006']) {
    const allow = await refuseWrites('votes', code);
    const answer = await vote();
    expect([code, answer.statusCode, answer.json().reason]).toEqual([code, 503, 'unavailable']);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    const tool = await market.http.inject({ method: 'POST', url: '/mcp', headers, payload });
    expect([code, tool.body]).toEqual([code, expect.stringContaining('"reason\\":\\"unavailable')]);
    const read = await market.http.inject({ method: 'GET', url: '/api/me', headers });
    expect([code, read.statusCode]).toEqual([code, 200]);
    await allow();
  }
  expect((await vote()).json()).toEqual({ listing_id: Number(id), votes: 1 });
  await market.http.close({ drainMs: 0 });
});

it('a program that connects is told to come again too', async () => {
  const { http } = createMarket({ ...marketContext({ database: db.database }) });
  const payload = { redirect_uris: ['http://127.0.0.1:4444/callback'], client_name: 'A program' };
  const register = () => http.inject({ method: 'POST', url: PATHS.registration, payload });
  const allow = await refuseWrites('oauth_artifacts', '53100');
  const answer = await register();
  expect([answer.statusCode, Number(answer.headers['retry-after']) > 0]).toEqual([503, true]);
  await allow();
  expect((await register()).statusCode).toBe(201);
  await http.close({ drainMs: 0 });
});

it('it is not ready while the server refuses writes, and says why', async () => {
  const allow = await refuseWrites('rate_counters', '53100');
  const { http } = createMarket({ ...marketContext({ database: db.database }) });
  const answer = await http.inject({ method: 'GET', url: '/readyz' });
  expect([answer.statusCode, answer.json()]).toEqual([
    503,
    { status: 'not_ready', database: 'reachable', migrations: 'complete', writes: 'refused', why: 'disk_full' },
  ]);
  await http.close({ drainMs: 0 });
  await allow();
});
