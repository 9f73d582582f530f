import { afterAll, beforeAll, expect, it } from 'vitest';
import { USDC_ADDRESS } from '../../src/local/chain/accounts.ts';
import { recover } from '../../src/market/recovery/recover.ts';
import { type LyingBooks, openLyingBooks } from '../support/audited-world.ts';
import { startWorld, type World } from '../support/market-world.ts';
import { fundedWallet, listPaid, newGoods } from '../support/trade.ts';
import { audit } from './audit.ts';
import { auditMarket } from './public/audit-market.ts';

let world: World;
let lies: LyingBooks;

beforeAll(async () => {
  world = await startWorld();
  await world.join('the-keeper');
  const seller = await world.join('seller-one');
  const buyer = await world.join('buyer-one');
  for (let place = 0; place < 3; place += 1) {
    const listed = await listPaid(world, seller, newGoods(), await fundedWallet(world));
    expect(listed.status).toBe(201);
  }
  const free = newGoods({ price_usdc: 0 });
  const { body } = await listPaid(world, seller, free, await fundedWallet(world));
  expect((await world.buy(BigInt(Number(body['listing_id'])), { key: buyer.key })).status).toBe(200);
  await world.running.eventsSettled();
  lies = await openLyingBooks(world.db.url);
});

afterAll(async () => {
  await lies?.end();
  await world?.stop();
});

const auditNow = () => audit({ databaseUrl: world.db.url, rpcUrl: world.chain.url, token: USDC_ADDRESS, quiet: true });

/** Returns SQL that replaces a text in an event's bytes and optionally sets other columns. */
const rewrite = (from: string, to: string, where: string, more = ''): string =>
  `update events set canonical = convert_to(replace(convert_from(canonical, 'UTF8'), '${from}', '${to}'), 'UTF8') ${more} where ${where}`;

const LIES: readonly (readonly [lie: string, found: RegExp, plant: string])[] = [
  [
    'an event is kept under another kind',
    /event 1 is kept as withdrawal and says listing/,
    `update events set kind = 'withdrawal' where id = 1`,
  ],
  [
    'an event is kept under another time',
    /event 2 is kept under .* and says /,
    `update events set at = at - interval '1 second' where id = 2`,
  ],
  [
    'an event is kept for another listing',
    /event 2 is kept for listing 3 and tells of 2/,
    `update events set listing_id = 3 where id = 2`,
  ],
  [
    'an event is written otherwise than the one way',
    /event 2 is not in canonical form/,
    rewrite('{"actor"', '{ "actor"', 'id = 2'),
  ],
  ['an event is no record', /event 2 has bytes that are no record/, rewrite('{', '', 'id = 2')],
  [
    'an event is counted otherwise in its kind',
    /event 3 is counted 5 of its kind, and is 3/,
    `update events set nth_of_kind = 5 where id = 3`,
  ],
  [
    'an event is counted otherwise in the door',
    /event 3 is counted 5 of the door, and is 3/,
    `update events set nth_of_door = 5 where id = 3`,
  ],
  [
    'an event is counted otherwise in the window',
    /event 3 is counted 5 of the window, and is 3/,
    `update events set nth_of_window = 5 where id = 3`,
  ],
  [
    'an event is hidden from the door',
    /event 3 is shown in other views than others of listing/,
    `update events set in_door = false where id = 3`,
  ],
  [
    'an event is counted otherwise in the log',
    /event 3 is counted 5 of the log, and is 3/,
    `update events set nth = 5 where id = 3`,
  ],
  [
    'an event was changed',
    /^event 2 has another running hash[^\n]*$/,
    rewrite('"actor":"seller-one"', '"actor":"seller-two"', 'id = 2'),
  ],
  [
    'an event was put in between with the hash of another',
    /event 6 has another running hash/,
    `insert into events (id, kind, at, canonical, in_door, in_window, listing_id, nth, nth_of_kind, nth_of_door, nth_of_window,
       running_hash, numbered_at)
     select 6, kind, at, canonical, in_door, in_window, listing_id, 6, nth_of_kind + 1, 6, 6, running_hash, numbered_at
     from events where id = 5`,
  ],
  [
    'an event was put in without a hash',
    /event 6 has no running hash: it was put into the log/,
    `insert into events (id, kind, at, canonical, in_door, in_window, listing_id, nth, nth_of_kind, nth_of_door, nth_of_window)
     select 6, kind, at, canonical, in_door, in_window, listing_id, 6, nth_of_kind + 1, 6, 6 from events where id = 5`,
  ],
  [
    'an event is said to have been numbered before the one before it',
    /event 3 was numbered before the one before it/,
    `update events set numbered_at = numbered_at - interval '1 day' where id = 3`,
  ],
  [
    'an event does not say when it was numbered',
    /event 3 does not say when it was numbered/,
    `update events set numbered_at = null where id = 3`,
  ],
  [
    'rows from before the hashes were changed',
    /event 3 is where the hash of all events from 1 on stands, which is another/,
    `insert into event_log_baseline select 3, running_hash from events where id = 3;
     update events set running_hash = null, numbered_at = null, nth = null where id <= 3;
     ${rewrite('"actor":"seller-one"', '"actor":"seller-two"', 'id = 2')}`,
  ],
  [
    'a listing is paid to another wallet than its event says',
    /listing 2 is paid to 0x\w+, and event 2 says 0x/,
    `update listings set seller_wallet = substr(sha256('other'), 1, 20) where id = 2`,
  ],
  [
    'a commitment is exchanged with its artifact',
    /listing 2 promises 0x\w+, and the log says 0x/,
    `update artifacts set content = 'something else' where listing_id = 2;
     update listings l set artifact_commitment = sha256(a.salt || a.content), artifact_bytes = length(a.content)
     from artifacts a where a.listing_id = l.id and l.id = 2`,
  ],
  ['an event is taken out', /event 3 comes after 1: a gap in the events/, `delete from events where id = 2`],
  [
    'an event tells of a sale that was not made',
    /event 5 tells of what the books do not have: sale of listing 3/,
    rewrite('"listing_id":4', '"listing_id":3', `kind = 'sale'`, ', listing_id = 3'),
  ],
  [
    'a sale is queued that was not made',
    // The market may number the event before the audit reads it.
    /(?:the event in place \d+ of the queue|event 6) tells of what the books do not have: sale of listing 1/,
    `insert into events (kind, at, canonical, in_door, in_window, listing_id)
     select kind, at, convert_to(replace(convert_from(canonical, 'UTF8'), '"listing_id":4', '"listing_id":1'), 'UTF8'), true, true, 1
     from events where kind = 'sale'`,
  ],
  [
    'a listing is told of at another price',
    /event 1 tells of what the books do not have: listing 1 .* for 9500000/,
    rewrite('"price_usdc":2.5', '"price_usdc":9.5', 'id = 1'),
  ],
  ['a listing has no event', /no event tells of this: listing 4 of merchant/, `delete from events where id = 4`],
  [
    'an artifact is exchanged',
    /the artifact of listing 2 is not what its commitment says/,
    `update artifacts set content = 'something else' where listing_id = 2`,
  ],
  [
    'a salt is exchanged',
    /the artifact of listing 2 is not what its commitment says/,
    `update artifacts set salt = sha256('something else') where listing_id = 2`,
  ],
  [
    'an artifact is gone',
    /a listing of goods has none, or a thing has some: \[\{"id":"2"\}\]/,
    `delete from artifacts where listing_id = 2`,
  ],
];

it('finds nothing where no row was changed, and says what it has looked at', async () => {
  expect(await auditNow()).toMatchObject({
    ...{ faults: [], payments: 4, fees: 4, purchases: 1, listings: 4 },
    artifacts: { count: 4 },
    log: { events: 5, first_id: '1', last_id: '5' },
  });
});

it('takes the hash of the upgrade for all rows from before it', async () => {
  try {
    await lies.plant(`insert into event_log_baseline select 3, running_hash from events where id = 3;
      update events set running_hash = null, numbered_at = null, nth = null where id <= 3`);
    const { faults, log } = await auditNow();
    expect(faults).toEqual([]);
    expect(log).toMatchObject({ hashed_from: '4', last_id: '5' });
  } finally {
    await lies.putBack();
  }
});

it('takes the ids that a recovery has left out for none that are missing, and only those', async () => {
  try {
    const order = { fromBlock: 0n, reason: 'restored from the backup of the night', copied: null };
    const { next_event_id } = await recover(world.running.market, order);
    await listPaid(world, await world.join('late-seller'), newGoods(), await fundedWallet(world));
    await world.running.eventsSettled();
    const { faults, log } = await auditNow();
    expect(faults).toEqual([]);
    expect(log).toMatchObject({ events: 7, first_id: '1', last_id: String(next_event_id + 1) });
    expect(await auditMarket({ marketUrl: world.url, rpcUrl: world.chain.url })).toMatchObject({
      faults: [],
      ...{ log: { read: 7, running_hash: log.running_hash }, fees: { read: 5, proven: 5 } },
    });
    await lies.plant(`delete from recoveries`);
    expect((await auditNow()).faults).toEqual([
      expect.stringMatching(/^event \d+ tells of what the books do not have: recovery of blocks 0 /),
    ]);
    await lies.plant(`delete from events where kind = 'recovery'`);
    expect((await auditNow()).faults).toContain(`event ${next_event_id + 1} comes after 5: a gap in the events`);
  } finally {
    await lies.putBack();
  }
});

it.each(LIES)('finds that %s', async (_lie, found, plant) => {
  try {
    await lies.plant(plant);
    expect((await auditNow()).faults.join('\n')).toMatch(found);
  } finally {
    await lies.putBack();
  }
});
