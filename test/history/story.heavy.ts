import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { readBalance } from '../../src/platform/chain/usdc.ts';
import { toHex } from '../../src/platform/hex.ts';
import { filesAt, readCopies } from '../../src/platform/log-copy/log-copy.ts';
import type { LogCopyPlace } from '../../src/platform/log-copy/place.ts';
import { audit } from '../audit/audit.ts';
import { auditMarket } from '../audit/public/audit-market.ts';
import { rotatedRounds } from '../suite/rotation.ts';
import { transfer } from '../support/direct.ts';
import {
  type HistoryWorld,
  loseTo,
  openHistoryWorld,
  recoverHistory,
  until,
  waitForCopy,
} from '../support/history-world.ts';
import type { Answer, Member, World } from '../support/market-world.ts';
import { fundedWallet, GAS_WEI, listGoods, newGoods, PRICE, signFee } from '../support/trade.ts';
import {
  collect,
  FUNDS,
  type LostPurchase,
  openByX402,
  payByTransfer,
  type Shop,
  signToCollect,
  withSlip,
} from './lost-buyers.ts';

/** Time limit. A hundred purchases of each kind take half a minute on two idle cores, and several times that beside other tests. */
const STORY_MS = 240_000;
const EACH = rotatedRounds(import.meta.filename, 10);
const { sellerOne } = WORLD_ACCOUNTS;

let history: HistoryWorld;
let world: World;
let place: LogCopyPlace;
let keeper: Member;
let shop: Shop;

beforeEach(async () => {
  history = await openHistoryWorld();
  place = await history.newHost();
  // The background job does not run, so a payment stays pending until a request asks.
  world = await history.startMarket({ logCopy: place, reconcileEveryMs: 3_600_000 });
  keeper = await world.join('the-keeper');
  shop = { world, seller: await world.join('seller-one') };
});
afterEach(() => history.stop());

const OPEN_FEES = 3;

async function list(count: number): Promise<bigint[]> {
  const ids: bigint[] = [];
  while (ids.length < count) {
    const goods = Array.from({ length: Math.min(OPEN_FEES, count - ids.length) }, () => newGoods());
    for (const body of goods) {
      const proof = await signFee(world, await fundedWallet(world));
      expect((await listGoods(world, shop.seller, body, { proof: proof.v2 })).status).toBe(202);
    }
    await world.finalize();
    for (const body of goods) {
      const listed = await listGoods(world, shop.seller, body);
      ids.push(BigInt((listed.body['listing'] as { id: number }).id));
    }
  }
  return ids;
}

const said = ({ status, body }: Answer) => [status, body['reason'], body['do_not_pay_again']];
const isDelivered = ({ status, body }: Answer, by: string): void =>
  expect([status, body['reason'], body['collected_by']]).toEqual([200, undefined, by]);
const REVIEW = [422, 'needs_review', true];
const keyOf = ({ key }: LostPurchase): string => key ?? '';

/** A way to pay before the loss, and a way to restore the purchase after it. */
interface Kind {
  pay(listing: bigint, buyer: Member): Promise<LostPurchase>;
  /** True to wait for the goods before the loss. */
  collects: boolean;
  makeWhole(made: LostPurchase, buyer: Member): Promise<void>;
  /** Total paid at the end, in units. */
  spent?: bigint;
}

async function openReview(made: LostPurchase, key: string): Promise<number> {
  const asked = await signToCollect(shop, made, { key }, made.txHash);
  expect(said(asked)).toEqual(REVIEW);
  // The market delivers nothing until the payee has decided.
  expect(said(await world.buy(made.listing, { key }))).toEqual(REVIEW);
  return (asked.body['payment'] as { id: number }).id;
}
const decide = async (payment: number, body: object): Promise<void> => {
  const decided = await world.ask('POST', `/api/review/${payment}`, { key: shop.seller.key, body });
  expect([decided.status, decided.body['reason']]).toEqual([200, undefined]);
};

async function claimAgain(made: LostPurchase): Promise<void> {
  const asked = { key: keyOf(made), body: made.claim };
  expect((await world.ask('POST', `/api/claim/${made.listing}`, asked)).body['reason']).toBe('intent_not_found');
  const claimed = await world.ask('POST', `/api/claim/${made.listing}`, withSlip(made, asked));
  expect([claimed.status, claimed.body['reason']]).toEqual([200, undefined]);
}

const KINDS: Record<string, Kind> = {
  'x402 with a key, delivered': {
    collects: true,
    pay: (listing, { key }) => openByX402(shop, listing, key),
    makeWhole: async (made) => isDelivered(await world.buy(made.listing, withSlip(made, { key: keyOf(made) })), 'key'),
  },
  'x402 with a key, on its way': {
    collects: false,
    pay: (listing, { key }) => openByX402(shop, listing, key),
    makeWhole: async (made) => {
      const same = { key: keyOf(made), proof: made.proof?.v2 } as never;
      isDelivered(await world.buy(made.listing, withSlip(made, same)), 'key');
    },
  },
  'x402 with a token': {
    collects: true,
    pay: (listing) => openByX402(shop, listing, null),
    makeWhole: async (made) => {
      const token = { headers: { 'x-delivery-token': made.token ?? '' } };
      isDelivered(await world.buy(made.listing, withSlip(made, token)), 'token');
    },
  },
  'x402, the account is lost too': {
    collects: false,
    pay: (listing, { key }) => openByX402(shop, listing, key),
    makeWhole: async (made) => {
      const same = { proof: made.proof?.v2, key: keyOf(made) } as never;
      expect(said(await world.buy(made.listing, withSlip(made, same)))).toEqual([401, 'key_invalid', true]);
      isDelivered(await signToCollect(shop, made, withSlip(made)), 'signature');
    },
  },
  'x402, the token is gone': {
    collects: true,
    pay: (listing) => openByX402(shop, listing, null),
    makeWhole: async (made) => isDelivered(await signToCollect(shop, made, withSlip(made)), 'signature'),
  },
  'directly, delivered': {
    collects: true,
    pay: (listing, buyer) => payByTransfer(shop, listing, buyer),
    makeWhole: claimAgain,
  },
  'directly, not claimed': {
    collects: false,
    pay: (listing, buyer) => payByTransfer(shop, listing, buyer),
    makeWhole: claimAgain,
  },
  'x402 without a slip': {
    collects: true,
    pay: async (listing, { key }) => ({ ...(await openByX402(shop, listing, key)), slip: null }),
    makeWhole: async (made) => {
      await decide(await openReview(made, keyOf(made)), { outcome: 'deliver' });
      isDelivered(await world.buy(made.listing, { key: keyOf(made) }), 'key');
    },
  },
  'directly without a slip': {
    collects: true,
    pay: async (listing, buyer) => ({ ...(await payByTransfer(shop, listing, buyer)), slip: null }),
    makeWhole: async (made) => {
      const payment = await openReview(made, keyOf(made));
      const back = await transfer(world, sellerOne, made.payer.address, PRICE);
      await world.finalize();
      await decide(payment, { outcome: 'refunded', tx_hash: back });
    },
    spent: 0n,
  },
  'of a listing that is lost': {
    collects: true,
    pay: (listing, { key }) => openByX402(shop, listing, key),
    makeWhole: async (made) => {
      const asked = await world.buy(made.listing, withSlip(made, { key: keyOf(made) }));
      expect(said(asked)).toEqual([409, 'listing_lost', true]);
      const [relisted] = (await list(1)) as [bigint];
      await decide(await openReview({ ...made, listing: relisted }, keyOf(made)), { outcome: 'deliver' });
      isDelivered(await world.buy(relisted, { key: keyOf(made) }), 'key');
    },
  },
};

const LOST_LISTING = 'of a listing that is lost';
const LOST_ACCOUNT = 'x402, the account is lost too';

interface Told {
  id: number;
  kind: string;
}
async function readLog(): Promise<Map<number, string>> {
  const log = new Map<number, string>();
  let before = '';
  for (;;) {
    const { body } = await world.ask('GET', `/api/events?limit=100${before}`);
    const events = body['events'] as Told[];
    for (const event of events) log.set(event.id, JSON.stringify(event));
    const last = events.at(-1);
    if (last === undefined || body['events_has_more'] !== true) return log;
    before = `&before_id=${last.id}`;
  }
}

interface Bought {
  name: string;
  buyer: Member;
  made: LostPurchase;
}

async function joinAll(): Promise<Map<string, Member>> {
  const members = new Map<string, Member>();
  for (const [at, name] of Object.keys(KINDS).entries()) {
    if (name !== LOST_ACCOUNT) members.set(name, await world.join(`buyer-${at}`));
  }
  return members;
}

async function payAll(kept: readonly bigint[], members: ReadonlyMap<string, Member>): Promise<Bought[]> {
  const all: Bought[] = [];
  for (const [name, kind] of Object.entries(KINDS)) {
    const buyer = members.get(name) ?? (await world.join('came-too-late'));
    const goods = name === LOST_LISTING ? await list(EACH) : kept;
    for (const listing of goods) all.push({ name, buyer, made: await kind.pay(listing, buyer) });
  }
  await world.finalize();
  for (const one of all) if (KINDS[one.name]?.collects) one.made = await collect(shop, one.made);
  return all;
}

test.each(['a restore', 'the promotion of a standby that lagged'])(
  'purchases of 10 kinds are lost by %s: each has goods, money or a review in the end, and no buyer has paid twice',
  async (how) => {
    const kept = await list(EACH);
    const members = await joinAll();
    const standby = how === 'a restore' ? null : await history.startStandby();
    await standby?.pauseStreaming();
    const backup = standby ?? (await history.primary.copyWhileRunning());
    const all = await payAll(kept, members);
    expect(all.length).toBe(10 * EACH);
    await waitForCopy(world, place);
    const before = await readLog();
    if (standby === null) await loseTo(backup, { history, world, place });
    else {
      await history.primary.kill();
      await standby.promote();
      history.leadTo(standby);
      await until(async () => (await world.ask('GET', '/readyz')).body['history'] === 'lost');
    }
    await recoverHistory(world, place);
    await fund(world.chain, [{ address: sellerOne.address, usdcUnits: 0n, wei: GAS_WEI }]);

    await expectNothing(all.map(({ made }) => made));
    for (const { name, buyer, made } of all) await KINDS[name]?.makeWhole(made, buyer);

    const { rpc, config } = world.running.market;
    for (const { name, made } of all) {
      const balance = await readBalance(rpc, config.network.usdc, made.payer.address);
      expect([name, FUNDS - balance]).toEqual([name, KINDS[name]?.spent ?? PRICE]);
    }
    await expectOneMeaning(
      all.map(({ made }) => made),
      before,
    );
    const books = await audit({ databaseUrl: history.db.url, rpcUrl: world.chain.url, quiet: true });
    const seen = await auditMarket({ marketUrl: world.url, rpcUrl: world.chain.url });
    expect([books.faults, seen.faults]).toEqual([[], []]);
  },
  STORY_MS,
);

/** Checks that before any buyer is restored, proofs and slips of others or for other goods deliver nothing. */
async function expectNothing(all: readonly LostPurchase[]): Promise<void> {
  const thief = keeper.key;
  const [one] = all as [LostPurchase];
  const other = all.find(({ listing, slip }) => listing !== one.listing && slip !== null) as LostPurchase;
  const bare = all.find(({ slip }) => slip === null) as LostPurchase;
  const expectAnswer = async (asked: Promise<Answer>, ...refused: unknown[]): Promise<void> => {
    const answer = await asked;
    expect(said(answer)).toEqual(refused);
    expect(answer.body).not.toHaveProperty('artifact');
  };
  // Try another buyer's proof, with and without its slip, and the slip for other goods.
  await expectAnswer(
    world.buy(one.listing, { key: thief, proof: one.proof?.v2 } as never),
    409,
    'authorization_used_elsewhere',
    true,
  );
  await expectAnswer(world.buy(one.listing, withSlip(one, { key: thief })), 402, 'payment_required', false);
  await expectAnswer(world.buy(other.listing, withSlip(one, { key: thief })), 402, 'payment_required', false);
  // Try a slip that this market did not sign.
  const foreign = { ...one, slip: `${one.slip?.slice(0, -4)}AAAA` };
  await expectAnswer(world.buy(one.listing, withSlip(foreign, { key: thief })), 400, 'invalid_fields', true);
  // A plain transfer to the same seller, with any signature, opens at most a review, and only for the lost period.
  const payer = await fundedWallet(world, FUNDS);
  await fund(world.chain, [{ address: payer.address, usdcUnits: 0n, wei: GAS_WEI }]);
  const txHash = await transfer(world, payer, sellerOne.address, PRICE);
  await world.finalize();
  await expectAnswer(signToCollect(shop, { ...one, payer }, { key: thief }, txHash), 422, 'transfer_not_found', true);
  await expectAnswer(
    signToCollect(shop, { ...bare, payer }, { key: thief }, bare.txHash),
    422,
    'transfer_not_found',
    true,
  );
}

/** Checks that no id shown before the loss means something else now. */
async function expectOneMeaning(all: readonly LostPurchase[], before: Map<number, string>): Promise<void> {
  await world.running.eventsSettled();
  const after = await readLog();
  for (const [id, event] of after) if (before.has(id)) expect(event).toBe(before.get(id));
  expect([...before.keys()].filter((id) => !after.has(id)).length).toBeGreaterThan(EACH);
  // Public events are in the copy, even after the gap.
  await waitForCopy(world, place);
  const copied = await readCopies(await filesAt([place.folder]));
  expect(copied.map(({ id }) => Number(id))).toEqual(expect.arrayContaining([...after.keys()]));
  const { database } = history.db;
  const { purchases } = await database.one<{ purchases: bigint }>(sql`select count(*) as purchases from purchases`);
  // Each purchase that was not refunded has one sale.
  expect(purchases).toBe(BigInt(all.length - EACH));
  const payers = new Map(all.map(({ paymentId, payer }) => [paymentId, payer.address]));
  const rows = await database.rows<{ id: bigint; payer: Buffer }>(sql`
    select id, payer from payments where id = any (${all.flatMap(({ paymentId }) => paymentId ?? [])}::int8[])`);
  expect(rows.length).toBeGreaterThan(EACH);
  for (const { id, payer } of rows) expect(toHex(payer)).toBe(payers.get(Number(id)));
}
