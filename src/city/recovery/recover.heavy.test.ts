import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cityBooks, seedResident, seedThing } from '../../../test/support/city-context.ts';
import { createTestDatabase, type TestDatabase } from '../../../test/support/database.ts';
import { recordingLog } from '../../../test/support/recording-log.ts';
import { systemClock } from '../../platform/clock.ts';
import type { Database, Tx } from '../../platform/database/database.ts';
import type { Hex } from '../../platform/hex.ts';
import { type CopiedEvent, hashAfter } from '../../platform/log-copy/log-copy.ts';
import { insertLoss, readEventsToCopy } from '../../platform/log-copy/store.ts';
import { findOffer, insertOffer, insertReservation, nextReservationId, saveOffer } from '../offers/store.ts';
import { dropClaim, insertClaim, refuseClaim } from '../payments/store.ts';
import { setMarketHandle } from '../residents/store.ts';
import { moveThing } from '../things/store.ts';
import { type Recovered, recover } from './recover.ts';

const SECOND = Date.UTC(2026, 5, 1);
const WALLET: Hex = `0x${'a1'.repeat(20)}`;
const hashOf = (digit: string): Hex => `0x${digit.repeat(64)}`;
let made: (TestDatabase & { drop(): Promise<void> })[] = [];
let acts: CopiedEvent[];

/** Creates a city with some history. */
beforeAll(async () => {
  const from = await newCity();
  const [one, two] = [await seedResident(from, { handle: 'one' }), await seedResident(from, { handle: 'two' })];
  const given = await seedThing(from, one.id);
  const kept = await seedThing(from, one.id);
  await setMarketHandle(from, one.id, 'merchant-one');
  await from.transaction((tx) => moveThing(tx, { thingId: given, to: two.id, at: new Date(), offerId: null }));
  // The present owner offers the thing. Earlier owners must not matter.
  await from.transaction((tx) => offer(tx, given, two.id, 1n));
  await from.transaction(async (tx) => {
    const id = await offer(tx, kept, one.id, 2n);
    await reserve(tx, id, two.id);
  });
  const { id: reservation } = await from.one<{ id: bigint }>(sql`select id from reservations`);
  await from.transaction((tx) => insertClaim(tx, reservation, hashOf('1'), new Date()));
  await from.transaction((tx) => insertClaim(tx, reservation, hashOf('2'), new Date()));
  await from.transaction((tx) => refuseClaim(tx, reservation, hashOf('1'), 'transfer_not_found'));
  await from.transaction((tx) => dropClaim(tx, reservation, hashOf('2')));
  acts = await readEventsToCopy(from, 0n, 500);
});
afterAll(async () => {
  for (const one of made) await one.drop();
});

async function newCity(): Promise<Database> {
  const one = await createTestDatabase({ site: 'city' });
  made = [...made, one];
  return one.database;
}

const offer = (tx: Tx, thingId: bigint, sellerId: bigint, marketDraftId: bigint): Promise<bigint> =>
  insertOffer(tx, {
    ...{ thingId, sellerId, marketDraftId, priceUnits: 5n, sellerWallet: WALLET, marketOrigin: 'http://market' },
    ...{ marketSeller: 'm', chainId: 8453n, asset: WALLET, createdAt: new Date() },
  });

async function reserve(tx: Tx, offerId: bigint, residentId: bigint): Promise<void> {
  const found = await findOffer(tx, offerId);
  if (found === null) throw new Error('it was just made');
  const reservation = {
    ...{ id: await nextReservationId(tx), offerId, residentId, handle: 'two', marketCheckoutId: 3n, marketBuyer: 'b' },
    ...{
      payerWallet: WALLET,
      reservedAt: new Date(SECOND),
      reservedUntil: new Date(SECOND + 300_000),
      openedBlock: 1n,
    },
    ...{ nonce: 'n', challenge: 'in\ntwo lines', seenTxHash: null, lapsedAt: null },
  };
  await insertReservation(tx, reservation, new Date());
  await saveOffer(tx, { ...found, phase: 'reserved', reservation });
}

const recoverOn = (database: Database, copied: CopiedEvent[] | null, asItStands = false): Promise<Recovered> =>
  recover({ database, clock: systemClock, log: recordingLog().log }, { reason: 'a test', copied, asItStands });

async function lose(database: Database): Promise<void> {
  const copy = acts.at(-1);
  if (copy === undefined) throw new Error('there are no acts');
  const host = '00000000-0000-0000-0000-000000000001';
  await insertLoss(database, { copy, foundId: 0n, host, now: new Date() });
}

test('each change of the books is one act, in the order of commits, with a hash over all before it', () => {
  expect(acts.map(({ id }) => id)).toEqual(acts.map((_, at) => BigInt(at + 1)));
  for (const [at, act] of acts.entries()) {
    expect(act.hash).toEqual(hashAfter(acts[at - 1] ?? { id: 0n, hash: Buffer.alloc(0) }, act));
    expect(act.canonical.includes('\n')).toBe(false);
  }
  const told = acts.map(({ canonical }) => JSON.parse(canonical.toString()) as { act: string; kind: string });
  expect(told.slice(-5).map(({ act, kind }) => `${act} ${kind}`)).toEqual([
    ...['update offers', 'insert claims', 'insert claims', 'update claims', 'delete claims'],
  ]);
});

test('all of it is put back where it was lost, and told again behind a gap', async () => {
  const lost = await newCity();
  await lose(lost);
  await expect(seedResident(lost, { handle: 'three' })).rejects.toMatchObject({ constraint: 'history_is_whole' });
  const recovered = await recoverOn(lost, acts);
  expect(recovered.acts).toEqual({ lost: acts.length, put_back: acts.length });
  expect(await cityBooks(lost)).toEqual(await cityBooks(made[0]?.database as Database));
  const [first] = await readEventsToCopy(lost, 0n, 1);
  expect(first?.id).toBe(BigInt(acts.length) + 1_001n);
  expect((await seedResident(lost, { handle: 'three' })).id).toBe(2n + 1_000n + 1n);
  expect(await seedThing(lost, 1n)).toBe(2n + 1_000n + 1n);
  expect(await lost.transaction(nextReservationId)).toBe(1n + 1_000n + 1n);
  // Lose history again with the same backup. Each act is put back once, and acts left out before stay out.
  const again = await newCity();
  await recoverOn(again, [...acts, ...(await readEventsToCopy(lost, 0n, 500))]);
  expect(await cityBooks(again)).toEqual(await cityBooks(lost));
  expect((await seedResident(again, { handle: 'four' })).id).toBe(2n + 1_000n + 1n + 1_000n + 1n);
});

test('what does not fit is refused, and nothing is changed', async () => {
  const city = await newCity();
  const forged = acts.map((act) => ({ ...act, canonical: Buffer.from('{}') }));
  await expect(recoverOn(city, forged)).rejects.toThrow('the copies are damaged');
  await expect(recoverOn(city, [])).rejects.toThrow('the copies hold no event');
  await expect(recoverOn(city, acts.slice(3))).rejects.toThrow('name older files too');
  await seedResident(city, { handle: 'two' });
  expect(await city.rows(sql`select from recoveries`)).toEqual([]);
});

test('without a copy nothing is put back, and ids go on far behind', async () => {
  const city = await newCity();
  await lose(city);
  expect(await recoverOn(city, null, true)).toMatchObject({ acts: { lost: 0, put_back: 0 }, next_event_id: 1_000_001 });
  expect((await seedResident(city, { handle: 'one' })).id).toBe(1_000_001n);
});
