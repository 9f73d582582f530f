import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lockIdentity, replaceKey, revokeAccess } from '../../src/market/identity/store.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { testDatabase } from '../support/database.ts';
import {
  type Begun,
  beginAuthorization,
  connectClient,
  discover,
  followRedirectBack,
  openConsent,
  redeem,
  refresh,
  type ServerFacts,
} from '../support/oauth-client.ts';
import { CLIENT_SHAPES } from '../support/oauth-shapes.ts';
import { type OauthStage, proofOf, startOauthStage } from '../support/oauth-stage.ts';

const ROUNDS = 12;
const AT_ONCE = 8;
const shape = CLIENT_SHAPES.claudeWeb;
const clientId = shape.document.client_id;

const db = testDatabase({ poolSize: 16 });
let stage: OauthStage;
let server: ServerFacts;
let owner: Awaited<ReturnType<OauthStage['join']>>;

beforeAll(async () => {
  stage = await startOauthStage(db);
  server = await discover(stage.url);
  owner = await stage.join('owner');
});
afterAll(() => stage.stop());

const begin = (): Begun => beginAuthorization(server, { clientId, shape });
const atOnce = <T>(act: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: AT_ONCE }, act));
const lives = async (token: unknown): Promise<boolean> => (await stage.connector.authenticate(String(token))) !== null;

test('a code gives one token, however many come with it at once', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const begun = begin();
    const page = await openConsent(begun);
    const location = await stage.allow(page, owner.proof);
    const code = (await followRedirectBack(server, begun, { browser: page.browser, location })).get('code') ?? '';
    const answers = await atOnce(() => redeem(server, begun, code));
    const given = answers.filter(({ status }) => status === 200);
    expect(given.length).toBe(1);
    for (const { status, body } of answers) if (status !== 200) expect(body).toMatchObject({ error: 'invalid_grant' });
  }
});

test('a refresh token that comes many times at once ends its family, and gives one token at most', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const { tokens } = await connectClient(stage.url, shape, (page) => stage.allow(page, owner.proof));
    const answers = await atOnce(() => refresh(server, clientId, tokens.refresh_token ?? ''));
    const given = answers.filter(({ status }) => status === 200);
    expect(given.length).toBeLessThanOrEqual(1);
    for (const { body } of given) {
      expect(await lives(body['access_token'])).toBe(false);
      const next = await refresh(server, clientId, String(body['refresh_token']));
      expect(next.body).toMatchObject({ error: 'invalid_grant' });
    }
    expect(await lives(tokens.access_token)).toBe(false);
  }
});

test('an attempt is decided once, however many say yes at once', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const page = await openConsent(begin());
    const before = await grants();
    const outcomes = await Promise.allSettled(Array.from({ length: AT_ONCE }, () => stage.allow(page, owner.proof)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await grants()).toBe(before + 1n);
  }
});

test('an attempt that is allowed and canceled at once is one of both', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const page = await openConsent(begin());
    const before = await grants();
    const [allowed, canceled] = await Promise.allSettled([stage.allow(page, owner.proof), stage.cancel(page)]);
    expect([allowed?.status, canceled?.status].sort()).toEqual(['fulfilled', 'rejected']);
    expect(await grants()).toBe(before + (allowed?.status === 'fulfilled' ? 1n : 0n));
  }
});

test('a key that is replaced during the consent leaves no connection, in whatever order', async () => {
  const other = await stage.join('rotating');
  let refused = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const page = await openConsent(begin());
    const proof = await proofOf(db, other.id);
    const rotate = async (): Promise<void> =>
      await stage.market.database.transaction(async (tx) => {
        await lockIdentity(tx, other.id);
        await replaceKey(tx, other.id, { keyHash: systemRandom.bytes(32), pepperVersion: 1 }, new Date());
        await revokeAccess(tx, other.id, new Date());
      });
    const [allowed] = await Promise.allSettled(
      round % 2 === 0
        ? [stage.allow(page, proof), rotate()]
        : [rotate().then(() => stage.allow(page, proof)), rotate()],
    );
    if (allowed?.status === 'rejected') {
      expect(allowed.reason).toMatchObject({ reason: 'proof_missing' });
      refused += 1;
    } else {
      const stop = await page.browser.follow(String(allowed?.value));
      expect(new URL(stop.url).searchParams.get('error')).toBe('access_denied');
    }
    const open = await db.database.rows(
      sql`select id from hosted_grants where merchant_id = ${other.id} and revoked_at is null`,
    );
    expect(open).toEqual([]);
  }
  expect(refused).toBeGreaterThan(0);
});

async function grants(): Promise<bigint> {
  const { count } = await db.database.one<{ count: bigint }>(sql`select count(*) from hosted_grants`);
  return count;
}
