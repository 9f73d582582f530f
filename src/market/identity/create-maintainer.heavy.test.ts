import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/support/database.ts';
import { registerCaller } from '../../../test/support/identity-doors.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import type { Market } from '../context.ts';
import { authenticate } from './authenticate.ts';
import { createMaintainer } from './register.ts';

let db: Awaited<ReturnType<typeof createTestDatabase>>;
let folder: string;
let out: string;
let market: Market;

beforeEach(async () => {
  db = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'openaisle-maintainer-'));
  out = join(folder, 'maintainer.json');
  market = marketContext({ database: db.database });
});

afterEach(async () => {
  await db.drop();
  await rm(folder, { recursive: true });
});

const create = (handle: string, file = out) =>
  createMaintainer({ ...market, keyPrefix: market.config.keyPrefix }, { handle, out: file });
const merchants = () => db.database.rows(sql`select id, handle from merchants order by id`);
const missing = { code: 'ENOENT' };

test('merchant 1 gets a key that works, in a file for its owner alone, and the log tells of it', async () => {
  expect(await create('maintainer')).toEqual({ merchantId: 1, handle: 'maintainer' });
  expect((await stat(out)).mode & 0o777).toBe(0o600);
  const saved = JSON.parse(await readFile(out, 'utf8'));
  expect(saved).toMatchObject({ merchant_id: 1, handle: 'maintainer' });
  expect(saved.recovery_codes).toHaveLength(8);
  expect(await authenticate(market, saved.merchant_key)).toEqual({
    id: 1n,
    handle: 'maintainer',
    maintainer: true,
    keyId: expect.any(BigInt),
  });
  const events = await db.database.rows(sql`
    select kind, convert_from(canonical, 'UTF8')::json -> 'detail' as detail from events`);
  expect(events).toEqual([{ kind: 'register', detail: { merchant_id: 1 } }]);
});

test('it can be made after public merchants, who never get id 1', async () => {
  const door = registerCaller(market);
  await door.confirm(await door.stage('early-bird'));
  await create('keeper');
  await door.confirm(await door.stage('late-bird'));
  expect(await merchants()).toEqual([
    { id: 1n, handle: 'keeper' },
    { id: 2n, handle: 'early-bird' },
    { id: 3n, handle: 'late-bird' },
  ]);
});

test('a second one is refused by name and leaves no file', async () => {
  await create('keeper');
  const second = join(folder, 'second.json');
  await expect(create('keeper-2', second)).rejects.toThrow('merchant 1 exists already, with the handle keeper');
  await expect(stat(second)).rejects.toMatchObject(missing);
});

test('of several at once one is made, and its file holds the key that works', async () => {
  const files = Array.from({ length: 5 }, (_, index) => join(folder, `${index}.json`));
  const outcomes = await Promise.allSettled(files.map((file, index) => create(`keeper-${index}`, file)));
  const winner = outcomes.findIndex(({ status }) => status === 'fulfilled');
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const saved = JSON.parse(await readFile(files[winner] ?? '', 'utf8'));
  expect(await authenticate(market, saved.merchant_key)).toMatchObject({ id: 1n, handle: `keeper-${winner}` });
});

test('a file that exists is neither overwritten nor removed, and no merchant is made', async () => {
  await writeFile(out, 'precious');
  await expect(create('keeper')).rejects.toThrow('exists already');
  expect(await readFile(out, 'utf8')).toBe('precious');
  expect(await merchants()).toEqual([]);
});

test.each(['Keeper', 'no', '-keeper', 'a'.repeat(33)])(
  'the handle %s is refused before anything is made',
  async (handle) => {
    await expect(create(handle)).rejects.toThrow('must match');
    await expect(stat(out)).rejects.toMatchObject(missing);
  },
);

test('a handle that looks like a merchant’s is refused', async () => {
  const door = registerCaller(market);
  await door.confirm(await door.stage('keeper'));
  await expect(create('keeper--')).rejects.toThrow('belongs to another merchant');
  await expect(stat(out)).rejects.toMatchObject(missing);
});

test('when the commit fails the file goes, as its key opens nothing', async () => {
  await db.database.run(sql`alter table events add constraint no_register check (kind <> 'register')`);
  await expect(create('keeper')).rejects.toThrow('no_register');
  await expect(stat(out)).rejects.toMatchObject(missing);
  expect(await merchants()).toEqual([]);
});
