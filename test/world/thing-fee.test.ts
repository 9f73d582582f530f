import { describe, expect, it, test } from 'vitest';
import { checksummed } from '../../src/contract/chain-values.ts';
import type { OfferOut } from '../../src/contract/world-records.ts';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { countRows } from '../support/database.ts';
import { type Answer, BASE_URL, paidUnits } from '../support/market-world.ts';
import { offerPath, sendJson } from '../support/scripted-city.ts';
import { seedFee, seedListing } from '../support/seed.ts';
import { listGoods, newGoods } from '../support/trade.ts';
import { statusAndReason } from './fee-stage.ts';
import { type DraftedThing, thingFeeStage } from './thing-fee-stage.ts';

const { treasury, stranger } = WORLD_ACCOUNTS;
const { stage, city, seller, link, draftThing, show, list, sign, cancel, stateOf, kindOf } = await thingFeeStage();
const { finalize, payFee, wallet, countOf, creditsOf } = stage;

const PENDING = [202, 'payment_pending'];
const marked = (answer: Answer): unknown[] => [...statusAndReason(answer), answer.body['do_not_pay_again']];
const times = <T>(count: number, act: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => act(n)));

describe('a thing is listed for the fee of any listing', () => {
  it('by x402: asked for with the address of things, listed once it is final, and paid once', async () => {
    const thing = await draftThing();
    const payer = await wallet();
    const asked = await list(thing);
    const resource = `${BASE_URL}/api/world/listing`;
    expect(asked).toMatchObject({ status: 402, body: { accepts: [{ resource, maxAmountRequired: '1000000' }] } });
    expect(await kindOf(thing.wallet)).toBeNull();
    const proof = await sign(payer);
    const again = await sign(payer);
    expect(statusAndReason(await list(thing, { proof: proof.v2 }))).toEqual(PENDING);
    expect([await stateOf(thing), await kindOf(thing.wallet)]).toEqual(['fee_pending', 'world']);
    for (const sent of [proof.v1, again.v2, undefined]) {
      expect(statusAndReason(await list(thing, { proof: sent }))).toEqual(PENDING);
    }
    expect(marked(await cancel(thing))).toEqual([409, 'draft_fee_pending', true]);
    await finalize();
    const listed = await list(thing);
    expect(listed.status).toBe(201);
    const id = listed.body['listing_id'];
    expect(listed.body).toMatchObject({
      url: `${BASE_URL}/api/listing/${id}`,
      listing: {
        ...{ id, merchant: thing.seller.handle, title: 'A lamp', price_usdc: 4, aisle: 'world', state: 'live' },
        ...{ delivery_kind: 'city_ownership', world_offer_id: Number(thing.offerId), world_asset_id: 7 },
        ...{ world_seller_handle: thing.resident, world_draft_id: thing.draftId, world_state: 'active' },
        ...{ seller_wallet: checksummed(thing.wallet), artifact_commitment: null, text_flags: [] },
      },
      fee: { amount_usdc: 1, verified_via: 'x402' },
    });
    const [event] = await stage.newestEvents();
    const detail = { listing_id: id, merchant_id: Number(thing.seller.id), price_usdc: 4, aisle: 'world' };
    expect(event).toMatchObject({ kind: 'listing', actor: thing.seller.handle, detail });
    for (const sent of [proof.v1, again.v2, undefined]) {
      const later = await list(thing, { proof: sent });
      expect([later.status, later.body['listing_id']]).toEqual([200, id]);
    }
    expect(await paidUnits(stage.world.chain, payer.address, treasury.address)).toEqual([1_000_000n]);
    expect(await stage.world.ask('GET', `/api/world/draft/${thing.draftId}`)).toMatchObject({
      body: { draft: { state: 'listed', listing_id: id } },
    });
    expect(statusAndReason(await cancel(thing))).toEqual([409, 'draft_closed']);
    expect(statusAndReason(await list({ ...thing, body: { ...thing.body, city_offer_id: 1 } }))).toEqual([
      409,
      'draft_closed',
    ]);
  });

  it('by a transfer: the background pass lists it, and the same body is told so once with 201', async () => {
    const thing = await draftThing();
    const claim = await payFee(thing.seller);
    expect(statusAndReason(await list(thing, { claim }))).toEqual(PENDING);
    expect([await stateOf(thing), await kindOf(thing.wallet)]).toEqual(['fee_pending', 'world']);
    await finalize();
    await stage.world.running.payments.reconcileOnce();
    expect(await stateOf(thing)).toBe('listed');
    // A paid fee gets its answer whatever the city says now.
    city.answer(offerPath(thing.offerId), null);
    const answers = await times(6, () => list(thing, { claim }));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 201]);
    expect(answers[0]?.body).toMatchObject({ fee: { tx_hash: claim.txHash, verified_via: 'direct' } });
    const other = await draftThing({ seller: thing.seller });
    expect(marked(await list(other, { claim }))).toEqual([409, 'transaction_used', true]);
    expect(await countOf('fees', thing.seller)).toBe(1);
  });

  it('20 equal requests at once are one fee and one listing', async () => {
    const thing = await draftThing();
    const payer = await wallet();
    const proofs = await times(4, () => sign(payer));
    const answers = await times(20, (n) => list(thing, { proof: proofs[n % 4]?.v1 }));
    const said = answers.map((answer) => statusAndReason(answer)[1]);
    expect(said).toContain('payment_pending');
    // Requests before the transfer was in a block say that it is pending. In a problem, `status` is the HTTP status.
    for (const one of said) expect(['payment_pending', 'verification_pending', 'settlement_pending']).toContain(one);
    for (const { body } of answers) expect(body['do_not_pay_again']).toBe(true);
    await finalize();
    const listed = await times(20, () => list(thing));
    expect(listed.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201]);
    expect(new Set(listed.map(({ body }) => body['listing_id'])).size).toBe(1);
    expect(await paidUnits(stage.world.chain, payer.address, treasury.address)).toEqual([1_000_000n]);
    expect([await countOf('payments', thing.seller), await countOf('fees', thing.seller)]).toEqual([1, 1]);
  });

  it('a credit is spent on it without a 402, by 20 equal requests once', async () => {
    const thing = await draftThing();
    await seedFee(stage.world.db.database, thing.seller.id);
    const answers = await times(20, () => list(thing));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201]);
    expect([await creditsOf(thing.seller), await kindOf(thing.wallet)]).toEqual([0, 'world']);
  });

  it('the maintainer lists free, and the log says maintainer_seed', async () => {
    const { keeper } = stage;
    await link(keeper);
    const thing = await draftThing({ seller: keeper });
    const answers = await times(8, () => list(thing));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(7).fill(200), 201]);
    expect(answers[0]?.body['fee']).toEqual({ amount_usdc: 0, tx_hash: null, verified_via: 'free' });
    const id = answers[0]?.body['listing_id'];
    const told = (await stage.newestEvents()).filter(
      ({ detail }) => (detail as { listing_id?: unknown }).listing_id === id,
    );
    expect(told.map(({ kind, actor }) => [kind, actor])).toEqual([['maintainer_seed', keeper.handle]]);
  });
});

describe('no payment is asked for', () => {
  /** Expects a refusal even with an authorization, which must not be used. */
  async function expectRefused(thing: DraftedThing, expected: [number, string]): Promise<Answer> {
    const before = await countRows(stage.world.db.database);
    const refused = await list(thing);
    expect(marked(refused)).toEqual([...expected, false]);
    const proof = await sign(stranger);
    expect(statusAndReason(await list(thing, { proof: proof.v1 }))).toEqual(expected);
    expect(await countRows(stage.world.db.database)).toEqual(before);
    return refused;
  }

  const wrong: [string, Partial<OfferOut>, string][] = [
    ['another thing', { thing_id: 8 }, 'thing_id'],
    ['another seller', { seller: 'another-seller' }, 'seller'],
    ['another price', { price_usdc: 4.000001 }, 'price_usdc'],
    ['another wallet', { seller_wallet: checksummed(stranger.address) }, 'seller_wallet'],
    ['another market', { market_origin: 'https://market.example' }, 'market_origin'],
    ['another chain', { chain_id: 1 }, 'chain_id'],
    ['another draft', { market_draft_id: 9_999 }, 'market_draft_id'],
    ['another listing', { market_listing_id: 1 }, 'market_listing_id'],
    ['an address that runs a script', { offer_url: 'javascript:alert(1)' }, 'offer_url'],
  ];
  test.each(wrong)('for an offer of %s', async (_name, changes, path) => {
    const refused = await expectRefused(await draftThing({ offer: changes }), [409, 'offer_mismatch']);
    expect(refused.body['errors']).toMatchObject([{ path }]);
  });

  it('for an offer that is not open, or that there is not', async () => {
    const thing = await draftThing({ offer: { phase: 'reserved' } });
    await expectRefused(thing, [409, 'offer_not_open']);
    show(thing, { phase: 'canceled' });
    await expectRefused(thing, [409, 'offer_not_open']);
    city.answer(offerPath(thing.offerId), null);
    await expectRefused(thing, [404, 'not_found']);
  });

  it('for a draft of another merchant, an unknown one, or a canceled one', async () => {
    const thing = await draftThing();
    await expectRefused({ ...thing, seller: await seller() }, [404, 'not_found']);
    await expectRefused({ ...thing, body: { ...thing.body, draft_id: 99_999 } }, [404, 'not_found']);
    await cancel(thing);
    await expectRefused(thing, [409, 'draft_closed']);
  });

  it('without a link, or while the city is away', async () => {
    const thing = await draftThing();
    city.showResident(thing.resident, null);
    await expectRefused(thing, [409, 'link_missing']);
    await link(thing.seller);
    city.answerAll((to) => sendJson(to, 500, {}));
    await expectRefused(thing, [503, 'city_unavailable']);
    const claim = await payFee(thing.seller);
    const refused = await list(thing, { claim });
    expect(marked(refused)).toEqual([503, 'city_unavailable', true]);
    expect(refused.body['next_step']).toContain('Send the same request again');
    city.answerAll(null);
    expect(statusAndReason(await list(thing, { claim }))).toEqual(PENDING);
    city.answerAll((to) => sendJson(to, 500, {}));
    expect(statusAndReason(await list(thing))).toEqual(PENDING);
    city.answerAll(null);
  });

  it('for a wallet that has sold goods since the draft was made', async () => {
    const thing = await draftThing();
    await seedListing(stage.world.db.database, thing.seller.id, { wallet: thing.wallet });
    await expectRefused(thing, [409, 'wallet_in_use']);
  });

  it('for goods with the wallet of a thing, from its fee on and not from its draft', async () => {
    const thing = await draftThing();
    const goods = newGoods({ seller_wallet: thing.wallet });
    expect((await listGoods(stage.world, thing.seller, goods)).status).toBe(402);
    expect((await list(thing, { claim: await payFee(thing.seller) })).status).toBe(202);
    expect(statusAndReason(await listGoods(stage.world, thing.seller, goods))).toEqual([409, 'wallet_in_use']);
    await finalize();
    expect((await list(thing)).status).toBe(201);
    expect(statusAndReason(await listGoods(stage.world, stage.keeper, goods))).toEqual([409, 'wallet_in_use']);
  });
});

it('what is paid for is answered also by a market that has no city any more', async () => {
  const thing = await draftThing();
  const other = await draftThing();
  const claim = await payFee(thing.seller);
  expect(statusAndReason(await list(thing, { claim }))).toEqual(PENDING);
  const { config } = stage.world.running.market;
  Object.assign(config, { cityUrl: null });
  try {
    expect(statusAndReason(await list(thing))).toEqual(PENDING);
    await finalize();
    expect((await list(thing)).status).toBe(201);
    expect(statusAndReason(await list(other))).toEqual([503, 'world_closed']);
  } finally {
    Object.assign(config, { cityUrl: city.url });
  }
});

it('a proof belongs to one of the two ways to list', async () => {
  const thing = await draftThing();
  const proof = await sign(await wallet());
  const goods = await listGoods(stage.world, thing.seller, newGoods(), { proof: proof.v2 });
  expect(statusAndReason(goods)).toEqual([409, 'payment_bound_elsewhere']);
  expect(statusAndReason(await list(thing, { proof: proof.v2 }))).toEqual(PENDING);
});
