import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EndpointShape } from '../../src/contract/endpoint.ts';
import { endpoints } from '../../src/contract/index.ts';
import { testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { countRows } from '../support/database.ts';
import { BASE_URL, type Member, paidUnits, signProof, startWorld, type World } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';
import { CANARY, expectDeclared, expectRefusal, type Sending, type SentAnswer, send } from '../support/send.ts';
import { fundedWallet, newGoods, signFee } from '../support/trade.ts';

const { sellerOne } = WORLD_ACCOUNTS;
const PRICE = 2_500_000n;
const RUNS = 250;

let world: World;
let member: Member;
let paidId: bigint;
let freeId: bigint;
/** Well-formed proofs of empty wallets. A proof that a mutation leaves valid is refused for the wallet's balance, after all other checks. */
let proofs: string[];

beforeAll(async () => {
  world = await startWorld({ limits: { guard_runs_per_merchant_day: 1_000_000 } });
  await world.join('the-keeper');
  const seller = await world.join('seller-one');
  member = await world.join('buyer-one');
  const given = { wallet: sellerOne.address, artifact: CANARY };
  ({ id: paidId } = await seedListing(world.db.database, seller.id, { ...given, priceUnits: PRICE }));
  ({ id: freeId } = await seedListing(world.db.database, seller.id, {
    ...given,
    artifact: 'free goods',
    priceUnits: 0n,
  }));
  const poor = testAccount('a wallet without money');
  const terms = {
    payTo: sellerOne.address,
    units: PRICE,
    secondsAhead: 500,
    resource: `${BASE_URL}/api/buy/${paidId}`,
  };
  const signed = [await signProof(world.chain, poor, terms), await signFee(world, poor)];
  proofs = signed.flatMap(({ v1, v2 }) => [v1.value, v2.value]);
});
afterAll(() => world?.stop());

const junk = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    '',
    0,
    -1,
    '0x',
    [],
    {},
    2 ** 53,
    1e-7,
    '\ud800',
    '\u0000',
    '\u202e',
    'a'.repeat(5_000),
  ),
  fc.string({ unit: 'binary' }),
  fc.jsonValue({ maxDepth: 3 }),
  fc.bigInt({ min: 0n, max: 1n << 256n }).map(String),
  fc.stringMatching(/^0x[0-9a-fA-F]{0,140}$/),
);

interface Change {
  at: number;
  to: unknown;
  drop: boolean;
}
const changes = fc.array(fc.record<Change>({ at: fc.nat(30), to: junk, drop: fc.boolean() }), { maxLength: 3 });

/** Replaces or removes one value nested in `value`. */
function change(value: unknown, { at, to, drop }: Change): unknown {
  const places: [Record<string, unknown>, string][] = [];
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const name of Object.keys(node)) {
      places.push([node as Record<string, unknown>, name]);
      walk((node as Record<string, unknown>)[name]);
    }
  };
  const copy = structuredClone(value);
  walk(copy);
  const place = places[at % Math.max(1, places.length)];
  if (place === undefined) return to;
  const [node, name] = place;
  if (drop) delete node[name];
  else node[name] = to;
  return copy;
}

const base64 = (text: string | Uint8Array): string => Buffer.from(text).toString('base64');

/** Generates a payment header: noise, base64 of noise, or a proof with some values changed. */
const payment = fc.oneof(
  fc.stringMatching(/^[\x20-\x7e\xa0-\xff]{0,200}$/).map((text) => () => text),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => () => base64(bytes)),
  fc.json().map((text) => () => base64(text)),
  ...[1, 2, 3, 4, 5, 6].map(() =>
    fc.tuple(fc.nat(3), changes).map(([which, some]) => () => {
      const proof: unknown = JSON.parse(Buffer.from(proofs[which] ?? '', 'base64').toString());
      return base64(JSON.stringify(some.reduce(change, proof)));
    }),
  ),
);

const named = (...names: string[]) => fc.tuple(fc.constantFrom(...names), payment);
const rarely = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });

const headers = fc
  .tuple(
    fc.option(named('x-payment', 'payment-signature'), { freq: 6 }),
    rarely(named('x-payment', 'payment-signature', 'x-delivery-token')),
    rarely(fc.constantFrom('application/json; charset=utf-8', 'text/plain', 'application/jsonx', '')),
  )
  .map(([one, other, type]) => () => {
    const made: Record<string, string> = { 'content-type': type ?? 'application/json' };
    for (const given of [one, other]) if (given) made[given[0]] = given[1]();
    return made;
  });

function bodies(good: () => Record<string, unknown>) {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(good) },
    fc.constant(() => undefined),
    fc.string({ unit: 'binary' }).map((text) => () => text),
    fc.uint8Array({ maxLength: 100 }).map((bytes) => () => bytes),
    fc.jsonValue().map((value) => () => value),
    fc
      .array(fc.record<Change>({ at: fc.nat(30), to: junk, drop: fc.boolean() }), { maxLength: 2 })
      .map((some) => () => some.reduce<unknown>(change, good())),
  );
}

interface Asked {
  endpoint: EndpointShape;
  path: string;
  sending: Sending;
}

/** Expects no 5xx, but either a complete documented refusal or a success that costs nothing. */
function expectLegal(endpoint: EndpointShape, answer: SentAnswer, isFree: (body: Record<string, unknown>) => boolean) {
  if (answer.status >= 300) {
    const problem = expectRefusal(expectDeclared(endpoint, answer));
    expect(typeof problem['do_not_pay_again']).toBe('boolean');
    return;
  }
  expect(answer.status).toBe(200);
  expect(answer.text).not.toContain(CANARY);
  expect(isFree(JSON.parse(answer.text)), answer.text).toBe(true);
}

async function holdsFor(asked: fc.Arbitrary<() => Asked>, isFree: (body: Record<string, unknown>) => boolean) {
  const before = await countRows(world.db.database);
  const property = fc.asyncProperty(asked, async (make) => {
    const { endpoint, path, sending } = make();
    const answer = await send(world.url, 'POST', path, sending);
    try {
      expectLegal(endpoint, answer, isFree);
    } catch (cause) {
      throw new Error(`POST ${path} ${JSON.stringify(sending)}`, { cause });
    }
  });
  // A failure prints its seed for a replay, and the smallest failing request.
  await fc.assert(property, { numRuns: RUNS });
  expect(await countRows(world.db.database)).toEqual(before);
}

it('no request to buy, whatever its body and proofs, breaks the market, stores anything or gets goods that cost', async () => {
  const body = bodies(() => ({ max_price_usdc: 5, collect: false }));
  const ids = fc.oneof(
    { weight: 6, arbitrary: fc.constant(() => paidId) },
    fc.constant(() => freeId),
    fc.nat().map((id) => () => id),
    fc.webSegment().map((text) => () => text),
  );
  const asked = fc
    .tuple(ids, rarely(fc.constant('x')), body, headers)
    .map(([id, key, makeBody, makeHeaders]) => () => ({
      endpoint: endpoints.buyListing,
      path: `/api/buy/${id()}`,
      sending: { body: makeBody(), headers: makeHeaders(), ...(key === null ? {} : { key }) },
    }));
  await holdsFor(asked, (said) => said['listing_id'] === Number(freeId) && said['purchase'] === null);
});

it('no request to list, whatever its body and proofs, breaks the market, stores anything or lists for nothing', async () => {
  const body = bodies(() => newGoods({ tags: ['one'], aisle: 'tools' }));
  const queries = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('', '?dry_run=true', '?dry_run=false') },
    fc.webQueryParameters().map((text) => `?${text}`),
  );
  const asked = fc.tuple(queries, body, headers).map(([query, makeBody, makeHeaders]) => () => ({
    endpoint: endpoints.createListing,
    path: `/api/listing${query}`,
    sending: { key: member.key, body: makeBody(), headers: makeHeaders() },
  }));
  await holdsFor(asked, (said) => said['dry_run'] === true && said['would_cost_usdc'] === 1);
});

it('a payment whose unsigned parts were changed at random is taken once or not at all, and is one row in the ledger', async () => {
  const payer = await fundedWallet(world);
  const terms = { payTo: sellerOne.address, units: PRICE, resource: `${BASE_URL}/api/buy/${paidId}` };
  const good = await signProof(world.chain, payer, terms);
  const sent = [good.v1, good.v2];
  const before = await countRows(world.db.database);
  await fc.assert(
    fc.asyncProperty(fc.nat(1), changes, async (which, some) => {
      const { header, value } = sent[which] ?? good.v1;
      const proof: unknown = JSON.parse(Buffer.from(value, 'base64').toString());
      const headers = { [header]: base64(JSON.stringify(some.reduce(change, proof))) };
      const answer = await send(world.url, 'POST', `/api/buy/${paidId}`, { headers });
      if (answer.status !== 202) expectRefusal(answer);
    }),
    { numRuns: 100 },
  );
  expect((await world.buy(paidId, { proof: good.v1 })).status).toBe(202);
  expect(await countRows(world.db.database)).toEqual({ ...before, payments: (before['payments'] ?? 0n) + 1n });
  expect(await paidUnits(world.chain, payer.address, sellerOne.address)).toEqual([PRICE]);
});
