import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { ask, reasonOf } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { marketContext, type SettableClock, settableClock } from '../../../test/support/market-context.ts';
import { type SeededMerchant, seedMerchant } from '../../../test/support/seed.ts';
import { endpoints } from '../../contract/index.ts';
import type { Market, MarketCall } from '../context.ts';
import { listGrants, revokeGrant } from './grants.ts';

const NOON = Date.parse('2030-01-01T12:00:00.000Z');
const db = testDatabase();
let clock: SettableClock;
let market: Market;
let owner: SeededMerchant;
let other: SeededMerchant;

beforeAll(async () => {
  clock = settableClock(NOON);
  market = marketContext({ database: db.database, clock });
  owner = await seedMerchant(db.database);
  other = await seedMerchant(db.database);
});

async function grant({ id: merchantId }: SeededMerchant, minute: number, name: string | null = 'A client') {
  const id = randomUUID();
  await db.database.run(sql`
    insert into hosted_grants (id, merchant_id, granted_at, oauth_grant, client_id, client_name, client_host, redirect_host,
      scopes, proved_by)
    values (${id}, ${merchantId}, ${new Date(NOON + minute * 60_000)}, ${id}, 'https://client.example/made-up.json', ${name},
      'client.example', 'client.example', '{market:read,market:me}', 'pairing_code')`);
  return id;
}

const list = async (caller: SeededMerchant) => (await ask(market, endpoints.listGrants, listGrants, { caller })).grants;
const revoke = async (id: string, caller: SeededMerchant) => {
  const call = { params: endpoints.revokeGrant.params.parse({ id }), caller } as MarketCall<
    typeof endpoints.revokeGrant
  >;
  const { body } = await revokeGrant(market, call);
  return endpoints.revokeGrant.answers[200].parse(body).grant;
};

test('a merchant sees its own, those in force first, the newest first, and ends one of them at once and for good', async () => {
  const [first, second, third] = [await grant(owner, 1), await grant(owner, 2, null), await grant(owner, 3)];
  const foreign = await grant(other, 4);
  expect((await list(owner)).map(({ id }) => id)).toEqual([third, second, first]);
  expect((await list(owner))[1]).toEqual({
    ...{ id: second, client_name: null, client_host: 'client.example', redirect_host: 'client.example' },
    ...{ scopes: ['market:read', 'market:me'], proved_by: 'pairing_code', granted_at: '2030-01-01T12:02:00.000Z' },
    ...{ proven_at: null, revoked_at: null },
  });
  clock.set(NOON + 5 * 60_000);
  const ended = await revoke(third, owner);
  expect(ended).toMatchObject({ id: third, revoked_at: '2030-01-01T12:05:00.000Z' });
  clock.set(NOON + 6 * 60_000);
  expect(await revoke(third, owner)).toEqual(ended);
  expect((await list(owner)).map(({ id }) => id)).toEqual([second, first, third]);
  expect((await list(other)).map(({ id, revoked_at }) => [id, revoked_at])).toEqual([[foreign, null]]);
});

test('a grant of another merchant is as absent as an unknown one', async () => {
  const foreign = await grant(other, 7);
  for (const id of [foreign, randomUUID()]) expect(await reasonOf(revoke(id, owner))).toBe('not_found');
  expect((await list(other))[0]).toMatchObject({ id: foreign, revoked_at: null });
});

test('at most a hundred are shown, and none that is in force is left out for one that is not', async () => {
  const many = await seedMerchant(db.database);
  for (let minute = 0; minute < 101; minute += 1) await grant(many, minute);
  await db.database.run(sql`
    update hosted_grants set revoked_at = ${new Date(NOON)} where merchant_id = ${many.id} and granted_at > ${new Date(NOON)}`);
  const shown = await list(many);
  expect(shown).toHaveLength(100);
  expect(shown.filter(({ revoked_at }) => revoked_at === null).map(({ granted_at }) => granted_at)).toEqual([
    '2030-01-01T12:00:00.000Z',
  ]);
});
