import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recover } from '../../src/market/recovery/recover.ts';
import { unlock } from '../../src/market/recovery/unlock.ts';
import { filesAt, readCopies, readLogEnd } from '../../src/platform/log-copy/log-copy.ts';
import type { LogCopyPlace } from '../../src/platform/log-copy/place.ts';
import { insertLoss } from '../../src/platform/log-copy/store.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { type HistoryWorld, loseTo, openHistoryWorld, until, waitForCopy } from '../support/history-world.ts';
import { codeOf, identityClient, type Owner } from '../support/identity-doors.ts';
import { type Answer, type Member, TEST_PEPPER, type World } from '../support/market-world.ts';
import { fundedWallet, listPaid, newGoods } from '../support/trade.ts';

let history: HistoryWorld;
let world: World;
let place: LogCopyPlace;
let keeper: Member;
let seller: Member;
let owners: Owner[];
const doors = () => identityClient((method, path, asked) => world.ask(method, path, asked));

beforeEach(async () => {
  history = await openHistoryWorld();
  place = await history.newHost();
  world = await history.startMarket({ logCopy: place });
  keeper = await world.join('the-keeper');
  seller = await world.join('seller-one');
  owners = [];
  for (const handle of ['stays-same', 'rotates-it', 'recovers-it']) owners.push(await doors().join(handle));
});
afterEach(() => history.stop());

async function list(): Promise<number> {
  const { body } = await listPaid(world, seller, newGoods(), await fundedWallet(world));
  return (body['listing'] as { id: number }).id;
}
async function events(): Promise<{ id: number; kind: string; detail: Record<string, unknown> }[]> {
  await world.running.eventsSettled();
  return (await world.ask('GET', '/api/events?limit=200')).body['events'] as never;
}
const must = (answer: Answer): void => expect([answer.status, answer.body['reason']]).toEqual([200, undefined]);

const run = async (copied: 'copied' | null) =>
  recover(world.running.market, {
    fromBlock: 0n,
    reason: 'the disk failed, restored from the backup of the night',
    copied: copied === null ? null : await readCopies(await filesAt([place.folder])),
  });

/** Checks that no replaced key is valid. An unused code gives a new key after a rotation. After a recovery, only the operator helps. */
async function expectKeys({
  rotates,
  recovers,
  rotated,
}: {
  rotates: Owner;
  recovers: Owner;
  rotated: string;
}): Promise<void> {
  expect(await Promise.all(owners.map(({ key }) => doors().isAlive(key)))).toEqual([true, false, false]);
  expect(await doors().isAlive(rotated)).toBe(false);
  expect((await doors().post('recovery', { action: 'begin', recovery_code: codeOf(recovers, 0) })).status).toBe(403);
  expect((await doors().post('recovery', { action: 'begin', recovery_code: codeOf(recovers, 1) })).status).toBe(403);
  const again = await doors().recovery(codeOf(rotates, 3));
  await doors().mustConfirm('recovery', again);
  expect(await doors().isAlive(again.merchant_key)).toBe(true);
  const { database } = history.db;
  const locked = await database.rows(
    sql`select m.handle, l.until from identity_locks l join merchants m on m.id = l.merchant_id order by m.id`,
  );
  expect(locked).toEqual([
    { handle: recovers.handle, until: 'recover' },
    { handle: 'came-too-late', until: 'recover' },
  ]);
  // Only the operator can give these merchants access again.
  const out = join(place.folder, 'codes.json');
  const operator = { ...world.running.market, random: systemRandom, pepper: TEST_PEPPER };
  const asked = { handle: recovers.handle, out, reason: 'known by another way' };
  await expect(unlock(operator, { ...asked, handle: rotates.handle })).rejects.toThrow('no merchant that waits');
  expect(await unlock(operator, asked)).toMatchObject({ status: 'unlocked', handle: recovers.handle });
  const { recovery_codes: codes } = JSON.parse(await readFile(out, 'utf8')) as { recovery_codes: string[] };
  const regained = await doors().recovery(codes[0] ?? '');
  await doors().mustConfirm('recovery', regained);
  expect(await doors().isAlive(regained.merchant_key)).toBe(true);
  await expect(unlock(operator, { ...asked, out: `${out}.2` })).rejects.toThrow('no merchant that waits');
  expect(
    (
      await doors().post('register', {
        ...{
          action: 'stage',
          handle: 'came-too-late',
          model: 'm',
          client_class: 'coding_ephemeral',
          human_approved: true,
        },
      })
    ).body['reason'],
  ).toBe('handle_taken');
}

/** Checks that new ids were never shown before and that counts match the rows. */
async function expectFreshIds({
  lost,
  newcomer,
  kept,
  said,
}: {
  lost: number;
  newcomer: Owner;
  kept: number;
  said: number;
}): Promise<void> {
  const fresh = await list();
  expect(fresh).toBeGreaterThan(lost);
  const late = await doors().join('came-later');
  expect(late.id).toBeGreaterThan(newcomer.id);
  const reply = await world.ask('POST', '/api/comment', { key: late.key, body: { listing_id: kept, body: 'Another' } });
  expect((reply.body['comment'] as { id: number }).id).toBeGreaterThan(said + 1);
  const all = await events();
  expect(all.map(({ id }) => id)).toEqual([...new Set(all.map(({ id }) => id))].sort((a, b) => b - a));
  const { total } = (await world.ask('GET', '/api/events')).body as { total: number };
  expect(total).toBe(all.length);
  const treasury = (await world.ask('GET', '/treasury')).body as { fees_count: number; recent_fees: { id: number }[] };
  expect(treasury.fees_count).toBe(treasury.recent_fees.length);
  expect(treasury.recent_fees[0]?.id).toBeGreaterThan(5);
}

/** Checks that the copy continues and that the loss has ended for every process that starts with it. */
async function expectCopied(): Promise<void> {
  const end = (await events())[0]?.id ?? 0;
  await until(async () => Number((await readLogEnd(place.folder))?.id ?? 0n) === end);
  expect((await world.ask('GET', '/readyz')).body).toMatchObject({
    history: 'whole',
    log_copy: 'kept',
    status: 'ready',
  });
}

const LINE = 'A line to be taken off';

/** Removes the texts of a comment and of the seller. */
async function emptyTexts(comment_id: number, because: { reason_code: string; reason: string }): Promise<void> {
  must(await world.ask('POST', '/api/mod/comment', { key: keeper.key, body: { comment_id, ...because } }));
  const line = { target_type: 'store_line', target_id: Number(seller.id), ...because };
  must(await world.ask('POST', '/api/mod/text', { key: keeper.key, body: line }));
}

/** Removes two listings, and restores the second after an appeal. */
async function removeBoth(
  removed: number,
  restored: number,
  because: { reason_code: string; reason: string },
): Promise<void> {
  for (const id of [removed, restored]) {
    must(await world.ask('POST', '/api/mod/remove', { key: keeper.key, body: { listing_id: id, ...because } }));
  }
  const appealed = await world.ask('POST', '/api/appeal', {
    key: seller.key,
    body: { listing_id: restored, statement: 'No' },
  });
  const decision = { appeal_id: (appealed.body['appeal'] as { id: number }).id, outcome: 'restored', reason: 'Right' };
  must(await world.ask('POST', '/api/mod/appeal', { key: keeper.key, body: decision }));
}

test('a recovery gives no id out again, ends again what was ended, and locks merchants who have another key by now', async () => {
  const [withdrawn, removed, restored, kept] = [await list(), await list(), await list(), await list()];
  const remark = { listing_id: kept, body: 'A remark' };
  const said = (await world.ask('POST', '/api/comment', { key: keeper.key, body: remark })).body['comment'] as {
    id: number;
  };
  must(await world.ask('POST', '/api/store', { key: seller.key, body: { line: LINE } }));
  const backup = await history.primary.copyWhileRunning();
  const [, rotates, recovers] = owners as [Owner, Owner, Owner];
  const lost = await list();
  const newcomer = await doors().join('came-too-late');
  const rotation = await doors().rotation(rotates.key);
  await doors().mustConfirm('rotate', rotation);
  const recovery = await doors().recovery(codeOf(recovers, 0));
  await doors().mustConfirm('recovery', recovery);
  must(await world.ask('DELETE', `/api/listing/${withdrawn}`, { key: seller.key }));
  const spam = { reason_code: 'spam', reason: 'It is spam' };
  await removeBoth(removed, restored, spam);
  await emptyTexts(said.id, spam);
  const newest = await loseTo(backup, { history, world, place });

  const outcome = await run('copied');
  expect(outcome).toMatchObject({
    status: 'recovered',
    lost: { listings: 1, merchants: 1, removals: 1, withdrawals: 1, keys: 2 },
  });
  expect(outcome.next_event_id).toBeGreaterThan(newest);
  await until(async () => (await world.ask('GET', '/readyz?strict')).status === 200);

  // Listings that had ended are ended again, and the log records this.
  const stateOf = async (id: number) =>
    ((await world.ask('GET', `/api/listing/${id}`)).body['listing'] as { state: string }).state;
  await until(async () => (await stateOf(removed)) === 'removed');
  expect([await stateOf(withdrawn), await stateOf(restored), await stateOf(kept)]).toEqual([
    'withdrawn',
    'live',
    'live',
  ]);
  const told = (await events()).filter(({ id }) => id > outcome.kept_event_id);
  expect(told.at(-1)?.id).toBe(outcome.next_event_id);
  expect(told.map(({ kind }) => kind).sort()).toEqual([
    'moderation',
    'moderation',
    'moderation',
    'recovery',
    'withdrawal',
  ]);
  expect(told.find(({ kind }) => kind === 'recovery')?.detail).toMatchObject({
    from_block: 0,
    kept_event_id: outcome.kept_event_id,
    next_event_id: outcome.next_event_id,
    reason: 'the disk failed, restored from the backup of the night',
  });
  const shown = [await world.ask('GET', `/api/listing/${kept}`), await world.ask('GET', '/api/merchants')];
  for (const text of ['A remark', LINE]) expect(JSON.stringify(shown.map(({ body }) => body))).not.toContain(text);

  await expectKeys({ rotates, recovers, rotated: rotation.merchant_key });

  await expectFreshIds({ lost, newcomer, kept, said: said.id });

  await expectCopied();
});

test('a host whose copy ends in what was lost, and which was away at the recovery, raises no alarm', async () => {
  await list();
  const backup = await history.primary.copyWhileRunning();
  const other = await history.newHost();
  const second = await history.startMarket({ logCopy: other });
  await list();
  await waitForCopy(world, place);
  await until(async () => (await readLogEnd(other.folder))?.id === (await readLogEnd(place.folder))?.id);
  await second.running.stop({ drainMs: 0 });
  await loseTo(backup, { history, world, place });
  await run('copied');
  const third = await history.startMarket({ logCopy: other });
  expect((await third.ask('GET', '/readyz')).body).toMatchObject({ history: 'whole' });
});

test('without a copy everybody has to replace the key before writing, and reads meanwhile', async () => {
  const listing = await list();
  const backup = await history.primary.copyWhileRunning();
  const lost = await list();
  const newest = await loseTo(backup, { history, world, place });
  const outcome = await run(null);
  expect(outcome.next_event_id).toBeGreaterThan(newest + 900_000);
  await until(async () => (await world.ask('GET', '/readyz')).body['history'] === 'whole');
  const [owner] = owners as [Owner];
  const comment = { listing_id: listing, body: 'May I?' };
  await until(async () => doors().isAlive(owner.key));
  expect(await world.ask('POST', '/api/comment', { key: owner.key, body: comment })).toMatchObject({
    status: 403,
    body: { reason: 'rotation_required' },
  });
  const rotation = await doors().rotation(owner.key);
  await doors().mustConfirm('rotate', rotation);
  const answer = await world.ask('POST', '/api/comment', { key: rotation.merchant_key, body: comment });
  expect(answer.status).toBe(201);
  expect(await world.ask('POST', '/api/comment', { key: seller.key, body: comment })).toMatchObject({ status: 403 });
  const sellers = await doors().rotation(seller.key);
  await doors().mustConfirm('rotate', sellers);
  seller = { ...seller, key: sellers.merchant_key };
  expect(await list()).toBeGreaterThan(lost + 900_000);
});

test('a loss that is noticed while the operator recovers is not written down after the recovery', async () => {
  await list();
  const backup = await history.primary.copyWhileRunning();
  await list();
  await loseTo(backup, { history, world, place });
  const { database } = history.db;
  await run('copied');
  const [told] = await database.rows<{ copied_id: bigint; copied_hash: Buffer }>(
    sql`select copied_id, copied_hash from history_losses order by id limit 1`,
  );
  const copy = { id: told?.copied_id ?? 0n, hash: told?.copied_hash ?? Buffer.alloc(32) };
  const late = { copy, foundId: 1n, host: place.host, now: new Date() };
  expect(await insertLoss(database, late)).toBe(false);
  expect(await database.rows(sql`select from history_losses where recovered_by is null`)).toEqual([]);
});

test('copies that begin after the end of the log, or are damaged, are refused, and nothing is changed', async () => {
  await list();
  const backup = await history.primary.copyWhileRunning();
  await list();
  await list();
  await loseTo(backup, { history, world, place });
  const copied = await readCopies(await filesAt([place.folder]));
  const attempt = (events: typeof copied) =>
    recover(world.running.market, { fromBlock: 0n, reason: 'r', copied: events });
  await expect(attempt(copied.slice(-1))).rejects.toThrow('name older files too');
  await expect(attempt([])).rejects.toThrow('hold no event');
  const [first, ...rest] = copied;
  await expect(attempt([{ ...first, hash: Buffer.alloc(32, 1) } as never, ...rest])).rejects.toThrow('are damaged');
  const far = recover(world.running.market, { fromBlock: 1_000_000n, reason: 'r', copied });
  await expect(far).rejects.toThrow('is not there yet');
  expect(await history.db.database.rows(sql`select from recoveries`)).toEqual([]);
  expect((await world.ask('GET', '/readyz')).body).toMatchObject({ history: 'lost' });
});
