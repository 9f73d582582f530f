import sql, { raw } from 'sql-template-tag';
import { expect, test } from 'vitest';
import { systemRandom } from '../../src/platform/random.ts';
import { makeMerchantKey, makePairingCode, makeRecoveryCode } from '../../src/platform/secrets.ts';
import { holdsSecret, takeLeaks, watchAnswer } from '../support/canary.ts';
import { createTestDatabase, tablesWithSecrets } from '../support/database.ts';
import { recordingLog } from '../support/recording-log.ts';

// Checks that the secret watch, which all other tests rely on, does find secrets.

const secrets = [
  makeMerchantKey(systemRandom, 'aisle'),
  makeRecoveryCode(systemRandom, 'aisle'),
  makeRecoveryCode(systemRandom, 'aisle').toLowerCase(),
  makePairingCode(systemRandom, 'aisle'),
];
const TYPES = ['text', 'bytea', 'bytea[]', 'jsonb'] as const;
const inBase64 = (text: string): string[] => ['', 'a', 'ab'].map((before) => btoa(`${before}${text} and so on`));

test('a secret in any column of any table is found when the database is dropped, and nothing is found where none is', async () => {
  const db = await createTestDatabase();
  await db.database.run(sql`create table clean as select 'aisle_sk_short' as text, '\\xdeadbeef'::bytea as bytes`);
  const leaky: string[] = [];
  for (const text of secrets.flatMap((secret) => [`see ${secret}.`, ...inBase64(secret)])) {
    const bytes = Buffer.from(text);
    for (const value of [
      sql`${text}`,
      sql`${bytes}`,
      sql`${[bytes]}::bytea[]`,
      sql`${JSON.stringify({ text })}::jsonb`,
    ]) {
      const name = `"Leaky ${leaky.length}"`;
      leaky.push(name);
      await db.database.run(sql`create table ${raw(name)} (id int, held ${raw(TYPES[(leaky.length - 1) % 4] ?? '')})`);
      await db.database.run(sql`insert into ${raw(name)} values (1, null), (2, ${value})`);
    }
  }
  expect((await tablesWithSecrets(db.url)).sort()).toEqual(leaky.sort());
  await expect(db.drop()).rejects.toThrow(/canary\.test\.ts: a secret got into the table "Leaky 0", the table/);
});

test('a secret in a log line is found, in a field, an error or the name of a member', () => {
  const { log } = recordingLog();
  for (const secret of secrets) {
    const error = new Error('outer', { cause: new Error(`inner ${secret}`) });
    for (const fields of [{ detail: `x${secret}` }, { error }, { deep: [{ [secret]: 1 }] }, { detail: btoa(secret) }])
      expect(() => log.info('said', fields)).toThrow('a secret got into the log line said');
    expect(() => log.with({ why: secret }).warn('bound')).toThrow('the log line bound');
  }
  expect(takeLeaks()).toHaveLength(secrets.length * 5);
  log.info('said', { detail: 'aisle_sk_short' });
  expect(takeLeaks()).toEqual([]);
});

test('an answer may hold a secret in the members of its one showing and nowhere else', () => {
  const [key = '', code = ''] = secrets;
  const shown = { merchant_key: key, recovery_codes: [code], handle: 'ada' };
  const exchange = (changes: object) => () =>
    watchAnswer({
      ...{ method: 'POST', path: '/api/register', asked: { action: 'stage' }, status: 200, headers: new Headers() },
      ...{ text: JSON.stringify(shown), ...changes },
    });
  exchange({})();
  const wrong = [
    { asked: { action: 'confirm' } },
    { status: 409 },
    { path: '/api/me' },
    { path: '/api/rotate', asked: { action: 'begin' } },
    { headers: new Headers({ etag: key }) },
    { text: JSON.stringify({ ...shown, handle: code }) },
  ];
  for (const changes of wrong) expect(exchange(changes)).toThrow('a secret got into');
  expect(takeLeaks()).toHaveLength(wrong.length);
});

test('what only looks like a secret is none', () => {
  for (const text of ['aisle_sk_', 'aisle_rc_AAAAA-AAAAA-AAAAA-AAAAA-AAAAA', secrets[0]?.slice(0, -1) ?? ''])
    expect(holdsSecret(text)).toBe(false);
});
