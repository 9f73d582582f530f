/** The city is restored to before a sale, while the market keeps its own books. */
import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MIGRATIONS } from '../../src/city/config.ts';
import { recover } from '../../src/city/recovery/recover.ts';
import { readNewestEventId } from '../../src/city/recovery/store.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { filesAt, readCopies, readLogEnd } from '../../src/platform/log-copy/log-copy.ts';
import type { LogCopyPlace } from '../../src/platform/log-copy/place.ts';
import { cityBooks, seedResident } from '../support/city-context.ts';
import { type HistoryWorld, openHistoryWorld, until } from '../support/history-world.ts';
import type { Answer } from '../support/market-world.ts';
import type { PostgresServer } from '../support/standby-postgres.ts';
import { type Person, type Reservation, type Sites, startSites, type Thing } from '../world/thing-stage.ts';

let history: HistoryWorld;
let sites: Sites;
let place: LogCopyPlace;
let seller: Person;
let buyer: Person;

beforeEach(async () => {
  history = await openHistoryWorld(MIGRATIONS);
  place = await history.newHost();
  sites = await startSites({ city: { databaseUrl: history.db.url, logCopy: place, sweepEveryMs: 100 } });
  [seller, buyer] = [await sites.person('seller'), await sites.person('buyer')];
});
afterEach(async () => {
  await sites.stop();
  await history.stop();
});

const said = ({ status, body }: Answer): unknown[] => [status, body['reason'], body['do_not_pay_again']];
const ready = (query = ''): Promise<Answer> => sites.city.ask('GET', `/readyz${query}`);
const standing = async (): Promise<unknown> => (await ready()).body['history'];

/** Waits until the copy contains everything that was acknowledged. */
async function waitForCopy(): Promise<void> {
  await until(async () => {
    const newest = await readNewestEventId(history.db.database);
    return ((await readLogEnd(place.folder))?.id ?? 0n) >= newest;
  });
}

async function loseTo(backup: PostgresServer): Promise<void> {
  await waitForCopy();
  await history.primary.kill();
  await backup.start();
  history.leadTo(backup);
  await until(async () => (await standing()) === 'lost');
}

async function recoverCity(asItStands = false) {
  const { database, clock, log } = sites.city.city;
  const copies = await readCopies(await filesAt([place.folder]));
  const recovered = await recover({ database, clock, log }, { reason: 'the disk failed', copied: copies, asItStands });
  await until(async () => (await ready('?strict')).status === 200);
  return recovered;
}

interface Paid {
  thing: Thing;
  reservation: Reservation;
  txHash: Hex;
}

async function reserveAndPay(thing: Thing): Promise<Paid> {
  const reservation = await sites.hold(buyer, thing);
  return { thing, reservation, txHash: await sites.pay(buyer, reservation) };
}
const claim = ({ thing, reservation, txHash }: Paid): Promise<Answer> => sites.claim(buyer, thing, reservation, txHash);

test('a city that lost a sale stops, asks no buyer to pay, and has all of it again after the recovery', async () => {
  const [sold, pending] = [await sites.thing(seller), await sites.thing(seller)];
  const backup = await history.primary.copyWhileRunning();
  const sale = await reserveAndPay(sold);
  await sites.finalize();
  expect((await claim(sale)).status).toBe(200);
  const other = await sites.person('other');
  const later = await reserveAndPay(pending);
  expect((await claim(later)).status).toBe(202);
  const books = await cityBooks(history.db.database);
  await loseTo(backup);

  expect((await ready()).status).toBe(200);
  expect((await ready('?strict')).status).toBe(503);
  for (const answer of [
    await claim(sale),
    await claim(later),
    await sites.reserve(other, sold, sale.reservation.checkoutId),
    await sites.city.ask('POST', '/api/thing', { key: other.resident.key, body: { name: 'A lamp' } }),
    await sites.city.ask('GET', `/api/world/offer/${sold.offerId}`),
  ]) {
    expect(said(answer)).toEqual([503, 'history_lost', true]);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  const page = await fetch(`${sites.city.url}/offer/${sold.offerId}`);
  expect([page.status, (await page.text()).includes('Open to buyers')]).toEqual([503, false]);
  // Public pages continue from the data that remains.
  expect(await sites.owner(sold)).toBe(seller.resident.handle);
  // The market does not trust the restored city.
  expect(said(await sites.sync(sold))).toEqual([503, 'city_unavailable', true]);
  await expect(
    history.db.database.run(sql`update residents set market_handle = null where handle = ${seller.resident.handle}`),
  ).rejects.toMatchObject({ constraint: 'history_is_whole' });

  const recovered = await recoverCity();
  expect(recovered.acts.put_back).toBe(recovered.acts.lost);
  expect(await cityBooks(history.db.database)).toEqual(books);
  expect(await sites.owner(sold)).toBe(buyer.resident.handle);
  expect((await claim(sale)).status).toBe(200);
  expect((await sites.sync(sold)).body).toMatchObject({ status: 'completed' });
  // The chain decides the undecided claims, whether or not anyone asks.
  await sites.finalize();
  await until(async () => (await sites.owner(pending)) === buyer.resident.handle);
  expect((await claim(later)).status).toBe(200);
  // A merchant who registered in the lost period still has a working key, and new ids were never shown before.
  const made = await sites.city.ask('POST', '/api/thing', { key: other.resident.key, body: { name: 'A lamp' } });
  expect((made.body['thing'] as { id: number }).id).toBeGreaterThan(1_000);
  expect((await sites.thing(seller)).offerId).toBeGreaterThan(1_000);
});

test('the books may be taken as they stand: handles stay reserved, ids are not given out twice', async () => {
  const thing = await sites.thing(seller);
  const backup = await history.primary.copyWhileRunning();
  const sale = await reserveAndPay(thing);
  const lost = await sites.city.join('was-here-before');
  await loseTo(backup);
  const recovered = await recoverCity(true);
  expect(recovered).toMatchObject({ acts: { put_back: 0 }, handles_held: 1 });
  expect(recovered.acts.lost).toBeGreaterThan(1);
  const body = {
    ...{ action: 'stage', handle: 'was-here-before', model: 'm' },
    client_class: 'coding_persistent',
    human_approved: true,
  };
  expect(said(await sites.city.ask('POST', '/api/register', { body })).slice(0, 2)).toEqual([409, 'handle_taken']);
  expect((await sites.city.ask('POST', '/api/thing', { key: lost.key, body: { name: 'A lamp' } })).status).toBe(401);
  expect(said(await claim(sale)).slice(0, 2)).toEqual([409, 'reservation_over']);
  const again = await sites.hold(buyer, thing);
  expect(again.id).toBeGreaterThan(1_000);
});

test('what was written after the loss is not overwritten: the operator is told, and nothing is changed', async () => {
  const backup = await history.primary.copyWhileRunning();
  const lost = await sites.city.join('was-here-before');
  await waitForCopy();
  await sites.city.running.stop({ drainMs: 0 });
  const copies = await readCopies(await filesAt([place.folder]));
  await history.primary.kill();
  await backup.start();
  history.leadTo(backup);
  // By the time the loss is noticed, another resident already has the lost id, so the copies do not fit the database.
  const { database } = history.db;
  const other = await seedResident(database, { handle: 'came-afterwards' });
  expect(other.id).toBe(lost.id);
  await sites.restartCity();
  expect(await standing()).toBe('lost');
  const { clock, log } = sites.city.city;
  const asked = { reason: 'the disk failed', copied: copies, asItStands: false };
  await expect(recover({ database, clock, log }, asked)).rejects.toThrow('does not fit the database');
  expect(await standing()).toBe('lost');
  await recover({ database, clock, log }, { ...asked, asItStands: true });
  await until(async () => (await ready('?strict')).status === 200);
  const residents = await database.rows<{ handle: string }>(sql`select handle from residents order by id desc limit 2`);
  expect(residents.map(({ handle }) => handle)).toEqual(['was-here-before', 'came-afterwards']);
});

test('no false alarm: a crash of the database, a restart of the city, a failover without loss', async () => {
  await sites.thing(seller);
  await history.primary.kill();
  await history.primary.start();
  await until(async () => (await ready()).status === 200);
  // The copy lacks events that another process wrote meanwhile.
  await waitForCopy();
  await sites.city.running.stop({ drainMs: 0 });
  await seedResident(history.db.database, { handle: 'came-meanwhile' });
  await sites.restartCity();
  expect(await standing()).toBe('whole');
  const standby = await history.startStandby();
  await sites.thing(seller);
  await standby.waitForReplay(history.primary);
  await waitForCopy();
  await history.primary.kill();
  await standby.promote();
  history.leadTo(standby);
  await until(async () => (await ready()).status === 200);
  expect((await ready()).body).toMatchObject({ history: 'whole', log_copy: 'kept' });
  await sites.thing(seller);
});
