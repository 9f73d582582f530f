import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import { recordingLog } from '../../../test/support/recording-log.ts';
import { seedListing, seedMerchant } from '../../../test/support/seed.ts';
import { systemClock } from '../../platform/clock.ts';
import { keepLogCopy } from '../../platform/log-copy/keep-copy.ts';
import { hashAfter, openLogCopy, readLogEnd } from '../../platform/log-copy/log-copy.ts';
import { openLogCopyPlace } from '../../platform/log-copy/place.ts';
import { readEventsToCopy } from '../../platform/log-copy/store.ts';
import { watchHistory } from '../../platform/log-copy/watch-history.ts';
import { systemRandom } from '../../platform/random.ts';
import { recordEvent } from '../events/record-event.ts';
import { createSequencer } from '../events/sequencer.ts';
import { markRemoved } from '../moderation/store.ts';
import { readLosses } from './store.ts';

const db = testDatabase();
const patiently = { timeout: 20_000, interval: 10 };
const HOUR_MS = 3_600_000;
let folder = '';
let recorded = recordingLog();
let keeper: Awaited<ReturnType<typeof seedMerchant>>;

beforeAll(async () => {
  keeper = await seedMerchant(db.database, { handle: 'the-keeper' });
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-history-'));
  recorded = recordingLog();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const openPlace = () =>
  openLogCopyPlace(
    { logCopyDir: folder, dataDir: folder, databaseUrl: db.url },
    { random: systemRandom, log: recorded.log, variable: 'OPENAISLE_LOG_COPY_DIR' },
  );

/** Records one more event and returns its number. */
async function recordOneEvent(): Promise<bigint> {
  const market = marketContext({ database: db.database });
  const { id } = await seedListing(db.database, keeper.id);
  await db.database.transaction(async (tx) => {
    markRemoved(tx, id, { reasonCode: 'spam', reason: 'r', removedBy: keeper.id, now: new Date() });
    const detail = { action: 'remove', listing_id: Number(id), merchant_id: Number(keeper.id) };
    await recordEvent(tx, market, { kind: 'moderation', actor: keeper.handle, detail });
  });
  await createSequencer({ database: db.database, clock: systemClock, log: recorded.log }).whenNumbered();
  return (await db.database.one<{ id: bigint }>(sql`select max(id) as id from events`)).id;
}

function keepCopy() {
  const copy = keepLogCopy({
    ...{ database: db.database, clock: systemClock, log: recorded.log, folder, host: systemRandom.uuid() },
    ...{ newestId: () => 1_000_000n, isLost: () => false, onBreak: async () => {} },
  });
  copy.start();
  return copy;
}
const copiedTo = async (): Promise<bigint | undefined> => (await readLogEnd(folder))?.id;

test('processes of a host that start at once have one name, and what a crash has left of it is replaced', async () => {
  const together = await Promise.all(Array.from({ length: 12 }, openPlace));
  const [first] = together;
  expect(new Set(together.map(({ host }) => host)).size).toBe(1);
  expect(first?.host).toMatch(/^[0-9a-f-]{36}$/);
  expect(await openPlace()).toEqual(first);
  for (const left of ['', 'half-a-na', '\0\0\0\0']) {
    await writeFile(join(folder, 'host'), left);
    const { host } = await openPlace();
    expect(host).toMatch(/^[0-9a-f-]{36}$/);
    expect((await openPlace()).host).toBe(host);
    expect(await readdir(folder)).toEqual(['host']);
  }
});

test('a copy that is deleted while it is written is made again, with its content', async () => {
  const first = await recordOneEvent();
  const copy = keepCopy();
  await expect.poll(copiedTo, patiently).toBe(first);
  await rm(folder, { recursive: true });
  const second = await recordOneEvent();
  await expect.poll(copiedTo, patiently).toBe(second);
  expect((await recorded.logged('log_copy_failed')).level).toBe('error');
  await recorded.logged('log_copy_recovered');
  const again = await openLogCopy(folder, () => systemClock.now());
  expect(again.end()?.id).toBe(second);
  await again.close();
  const [name = ''] = (await readdir(folder)).filter((one) => one.endsWith('.log'));
  expect(name).not.toBe('');
  await copy.stop();
});

test('a folder that cannot be made is told of, and used once it can be', async () => {
  const newest = await recordOneEvent();
  await rm(folder, { recursive: true });
  await writeFile(folder, 'a file is in the way');
  const copy = keepCopy();
  await recorded.logged('log_copy_failed');
  await expect.poll(copy.isFailing, patiently).toBe(true);
  await rm(folder);
  await expect.poll(() => copiedTo().catch(() => null), patiently).toBe(newest);
  await expect.poll(copy.isFailing, patiently).toBe(false);
  await copy.stop();
});

test('a log that does not go on from the copy is never copied in silence', async () => {
  const end = await recordOneEvent();
  await recordOneEvent();
  const copy = await openLogCopy(folder, () => systemClock.now());
  await copy.append([{ id: end, canonical: Buffer.from('{}'), hash: Buffer.alloc(32, 1) }]);
  await copy.close();
  const kept = keepCopy();
  await recorded.logged('log_copy_failed');
  await expect.poll(kept.isFailing, patiently).toBe(true);
  expect(await copiedTo()).toBe(end);
  await kept.stop();
});

test('a copy that stands still while the log grows is told of once, with the process that should write, and so is its end', async () => {
  await recordOneEvent();
  let passed = 0;
  const clock = {
    now: () => systemClock.now() + passed,
    sleep: async (ms: number) => {
      passed += ms;
      await systemClock.sleep(1);
    },
  };
  const copy = await openLogCopy(folder, () => systemClock.now());
  const copyAll = async (): Promise<void> =>
    copy.append(await readEventsToCopy(db.database, copy.end()?.id ?? 0n, 500));
  const watch = watchHistory({
    ...{ database: db.database, clock, log: recorded.log, folder, host: systemRandom.uuid(), writer: () => 4_711 },
    readLosses,
    onOtherHistory: () => {},
  });
  await watch.start();
  // The copy is empty, so it lacks the whole log.
  const behind = () => recorded.lines.find(({ event }) => event === 'log_copy_behind');
  await expect.poll(behind, patiently).toBeDefined();
  const first = behind();
  expect(first).toMatchObject({ level: 'error', fields: { event_id: 0, pid: 4_711, path: folder } });
  expect(watch.behindSince()).toBe(Date.parse(String(first?.fields['from'])));
  await copyAll();
  await expect.poll(watch.behindSince, patiently).toBe(null);
  const end = copy.end()?.id;
  await recordOneEvent();
  await expect.poll(watch.behindSince, patiently).not.toBe(null);
  await copyAll();
  await expect.poll(watch.behindSince, patiently).toBe(null);
  await watch.stop();
  await copy.close();
  const said = recorded.lines.filter(({ event }) => event.startsWith('log_copy_')).map(({ event }) => event);
  expect(said.filter((event) => event !== 'log_copy_missing')).toEqual([
    ...['log_copy_behind', 'log_copy_caught_up'],
    ...['log_copy_behind', 'log_copy_caught_up'],
  ]);
  expect(recorded.lines.at(-2)?.fields['event_id']).toBe(Number(end));
});

test('a clock that is set back does not keep the copy from being compared', async () => {
  await recordOneEvent();
  let passed = 0;
  const clock = {
    now: () => systemClock.now() + passed,
    sleep: async (ms: number) => {
      passed += ms;
      await systemClock.sleep(1);
    },
  };
  const copy = await openLogCopy(folder, () => systemClock.now());
  const events = await readEventsToCopy(db.database, 0n, 500);
  await copy.append(events);
  const watch = watchHistory({
    ...{ database: db.database, clock, log: recorded.log, folder, host: systemRandom.uuid(), writer: () => null },
    readLosses,
    onOtherHistory: () => {},
  });
  await watch.start();
  expect([watch.isLost(), watch.memory()]).toEqual([false, 'kept']);
  passed -= HOUR_MS;
  const end = events.at(-1);
  if (end === undefined) throw new Error('the log is empty');
  const shown = { id: end.id + 1n, canonical: Buffer.from('{"kind":"sale"}') };
  await copy.append([{ ...shown, hash: hashAfter(end, shown) }]);
  const back = passed + HOUR_MS / 2;
  await expect.poll(watch.isLost, patiently).toBe(true);
  expect(passed).toBeLessThan(back);
  await watch.stop();
  await copy.close();
});
