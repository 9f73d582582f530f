import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checksummed } from '../../src/contract/chain-values.ts';
import { ERRORS, type ErrorRow, type Reason } from '../../src/contract/errors.ts';
import { endpoints } from '../../src/contract/index.ts';
import { testAccount, USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { usdcAdmin } from '../support/chain.ts';
import { countRows } from '../support/database.ts';
import {
  BASE_URL,
  type Member,
  paidUnits,
  signProof,
  startWorld,
  type World,
  wrapProof,
} from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';
import { CANARY, expectDeclared, expectRefusal, type SentAnswer, send } from '../support/send.ts';
import { FEE_TERMS, newGoods } from '../support/trade.ts';
import { BAD_PROOFS, type PayAt } from './bad-proofs.ts';

const { buyerOne, buyerTwo, buyerThree, sellerOne, stranger } = WORLD_ACCOUNTS;
const PRICE = 2_500_000n;

let world: World;
let member: Member;
let rows: Record<string, bigint>;
let listingId: bigint;

beforeAll(async () => {
  world = await startWorld({ limits: { guard_runs_per_merchant_day: 100_000 } });
  await world.join('the-keeper');
  const seller = await world.join('seller-one');
  member = await world.join('buyer-one');
  const given = { wallet: sellerOne.address, priceUnits: PRICE, artifact: CANARY };
  ({ id: listingId } = await seedListing(world.db.database, seller.id, given));
  await seedListing(world.db.database, seller.id, { ...given, artifact: `${CANARY} of another` });
});
afterAll(() => world?.stop());

type Headers = Record<string, string | string[]>;

function payAt(name: string): PayAt & { ask(headers: Headers): Promise<SentAnswer> } {
  const { chain, url } = world;
  if (name === 'a fee') {
    const body = newGoods({ title: 'Goods without a payment', artifact: CANARY });
    return {
      chain,
      terms: FEE_TERMS,
      ask: async (headers) =>
        expectDeclared(
          endpoints.createListing,
          await send(url, 'POST', '/api/listing', { key: member.key, body, headers }),
        ),
    };
  }
  const terms = { payTo: sellerOne.address, units: PRICE, resource: `${BASE_URL}/api/buy/${listingId}` };
  const key = name.includes('with a key') ? { key: member.key } : {};
  return {
    chain,
    terms,
    ask: async (headers) =>
      expectDeclared(endpoints.buyListing, await send(url, 'POST', `/api/buy/${listingId}`, { ...key, headers })),
  };
}

/** Checks the refusal of a proof: it must say whether paying again is safe, and a 402 must name the terms to sign. */
function expectPaymentRefusal(answer: SentAnswer, reason: Reason, at: PayAt): void {
  const problem = expectRefusal(answer, reason);
  const row: ErrorRow = ERRORS[problem['reason'] as Reason];
  // If the table has no value for this reason, the proof was not checked yet, so the answer must say true.
  expect(problem['do_not_pay_again']).toBe(row.of_proof?.do_not_pay_again ?? row.do_not_pay_again ?? true);
  if (answer.status !== 402) return;
  const { payTo, units, resource } = at.terms;
  expect(problem).toMatchObject({
    x402Version: 1,
    accepts: [{ network: 'base', payTo: checksummed(payTo), maxAmountRequired: units.toString(), resource }],
  });
  const asked = JSON.parse(Buffer.from(answer.headers.get('payment-required') ?? '', 'base64').toString());
  expect(asked).toMatchObject({ x402Version: 2, resource: { url: resource }, accepts: [{ amount: units.toString() }] });
}

describe.each(['a purchase', 'a purchase with a key', 'a fee'])('%s is not paid by', (name) => {
  beforeEach(async () => {
    rows = await countRows(world.db.database);
  });
  afterEach(async () => {
    expect(await countRows(world.db.database)).toEqual(rows);
  });

  it.each(BAD_PROOFS)('$what', async ({ make, reason }) => {
    const at = payAt(name);
    for (const headers of await make(at)) expectPaymentRefusal(await at.ask(headers), reason, at);
  });

  it('an authorization that was used or cancelled on the chain before, and who paid by it is told so', async () => {
    const at = payAt(name);
    const admin = usdcAdmin(world.chain);
    const used = await signProof(world.chain, buyerTwo, at.terms);
    await admin.settleAuthorization(stranger, used.authorization, used.signature);
    const cancelled = await signProof(world.chain, buyerTwo, at.terms);
    await admin.cancelAuthorization(stranger, buyerTwo, cancelled.authorization.nonce);
    for (const { v1, v2 } of [used, cancelled]) {
      for (const { header, value } of [v1, v2]) {
        const problem = expectRefusal(await at.ask({ [header]: value }), 'authorization_used_elsewhere');
        expect(problem['do_not_pay_again']).toBe(v1 === used.v1);
      }
    }
  });

  it('more money than the wallet holds', async () => {
    const at = payAt(name);
    const { v1, v2 } = await signProof(world.chain, testAccount('a wallet without money'), at.terms);
    for (const { header, value } of [v1, v2]) {
      expectPaymentRefusal(await at.ask({ [header]: value }), 'insufficient_funds', at);
    }
  });
});

describe('a proof in the name of another wallet', () => {
  it('blocks no payer: that payer buys afterwards, even with the nonce that was shown', async () => {
    const at = payAt('a purchase');
    const honest = await signProof(world.chain, buyerThree, at.terms);
    const bySomebody = await signProof(world.chain, stranger, { ...at.terms, signed: honest.authorization });
    const forged = wrapProof(honest.authorization, bySomebody.signature, at.terms);
    for (const { header, value } of [forged.v1, forged.v2]) {
      for (const body of [{}, { collect: true }]) {
        const answer = await send(world.url, 'POST', `/api/buy/${listingId}`, { body, headers: { [header]: value } });
        expectPaymentRefusal(answer, 'signature_invalid', at);
      }
    }
    expect((await world.buy(listingId, { proof: honest.v1 })).status).toBe(202);
    for (const { header, value } of [forged.v1, forged.v2]) {
      const answer = await at.ask({ [header]: value });
      expect([answer.status, answer.text.includes('delivery_token')]).toEqual([202, false]);
    }
    await world.finalize();
    for (const { header, value } of [forged.v1, forged.v2]) {
      expectRefusal(await at.ask({ [header]: value }), 'sign_to_collect');
    }
    expect(await paidUnits(world.chain, buyerThree.address, sellerOne.address)).toEqual([PRICE]);
  });

  it('blocks no merchant from listing', async () => {
    const at = payAt('a fee');
    const honest = await signProof(world.chain, buyerOne, at.terms);
    const bySomebody = await signProof(world.chain, stranger, { ...at.terms, signed: honest.authorization });
    const forged = wrapProof(honest.authorization, bySomebody.signature, at.terms);
    expectPaymentRefusal(await at.ask({ [forged.v1.header]: forged.v1.value }), 'signature_invalid', at);
    expect((await at.ask({ [honest.v1.header]: honest.v1.value })).status).toBe(202);
  });

  it('from an address with code is asked of that code, and refused', async () => {
    const at = payAt('a purchase');
    const { v1, v2 } = await signProof(world.chain, stranger, { ...at.terms, signed: { from: USDC_ADDRESS } });
    for (const { header, value } of [v1, v2]) {
      expectPaymentRefusal(await at.ask({ [header]: value }), 'payer_contract_refused', at);
    }
  });
});

it('a proof that bought one listing does not buy another of the same seller and price', async () => {
  const at = payAt('a purchase');
  const proof = await signProof(world.chain, buyerOne, at.terms);
  expect((await world.buy(listingId, { proof: proof.v1 })).status).toBe(202);
  const before = await countRows(world.db.database);
  for (const { header, value } of [proof.v1, proof.v2]) {
    const answer = await send(world.url, 'POST', `/api/buy/${listingId + 1n}`, { headers: { [header]: value } });
    expectRefusal(answer, 'payment_bound_elsewhere');
  }
  expect(await countRows(world.db.database)).toEqual(before);
});

it('a delivery token that belongs to nothing never leads to a 402', async () => {
  for (const token of ['x', 'a'.repeat(43), '']) {
    const answer = await payAt('a purchase').ask({ 'x-delivery-token': token });
    expect(expectRefusal(answer, 'payment_not_found')['do_not_pay_again']).toBe(true);
  }
});
