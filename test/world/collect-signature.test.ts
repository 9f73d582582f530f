import { describe, expect, it } from 'vitest';
import type { TestAccount } from '../../src/local/chain/accounts.ts';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { usdcAdmin } from '../support/chain.ts';
import { countRows } from '../support/database.ts';
import { type AskOptions, BASE_URL, paidUnits, signProof } from '../support/market-world.ts';
import { type CollectChange, type Goods, PRICE, signCollecting, testTrade } from '../support/trade.ts';
import { createContractWallet } from './contract-wallet.ts';

const { world, buyer, goods, wallet } = testTrade();

const collecting = (goodsOf: Pick<Goods, 'id' | 'terms'>, payer: Hex, signer: TestAccount, change?: CollectChange) =>
  signCollecting(world.chain, goodsOf, { payer, signer }, change);

async function soldGoods() {
  const listing = await goods();
  const payer = await wallet();
  const proof = await signProof(world.chain, payer, listing.terms);
  const opened = await world.buy(listing.id, { proof: proof.v2 });
  expect(opened.status).toBe(202);
  return { listing, payer };
}

const said = ({ status, body }: { status: number; body: Record<string, unknown> }) => [status, body['reason']];

describe('an authorization that moves nothing', () => {
  it('collects what its signer has paid: 202 while that is pending, then the goods once', async () => {
    const { listing, payer } = await soldGoods();
    const { v1, v2, body } = await collecting(listing, payer.address, payer);
    expect(await world.buy(listing.id, { proof: v2, body })).toMatchObject({
      status: 202,
      body: { collected_by: 'signature' },
    });
    await world.finalize();
    const asked = { proof: v1, body };
    expect(await world.buy(listing.id, asked)).toMatchObject({
      status: 200,
      body: { artifact: listing.artifact, collected_by: 'signature' },
    });
    const again = await world.buy(listing.id, asked);
    expect([...said(again), again.body['do_not_pay_again']]).toEqual([409, 'collect_signature_used', true]);
    expect((await world.buy(listing.id, { ...asked, key: buyer.key })).status).toBe(200);
    expect(said(await world.buy(listing.id, { ...asked, key: buyer.key }))).toEqual([409, 'collect_signature_used']);
    expect(await paidUnits(world.chain, payer.address, listing.terms.payTo)).toEqual([PRICE]);
  });

  it('of many at once with the same one, one gets the goods', async () => {
    const { listing, payer } = await soldGoods();
    await world.finalize();
    const { v2, body } = await collecting(listing, payer.address, payer);
    const answers = await Promise.all(Array.from({ length: 6 }, () => world.buy(listing.id, { proof: v2, body })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409]);
  });

  it('serves nowhere else: another market, chain, listing, wallet or salt', async () => {
    const { listing, payer } = await soldGoods();
    await world.finalize();
    const other = await goods();
    const wrong = [
      await collecting(listing, payer.address, payer, { baseUrl: 'https://another.example' }),
      await collecting(listing, payer.address, payer, { chainId: 84532n }),
      await collecting(listing, payer.address, payer, { listingId: other.id }),
      await collecting(listing, payer.address, payer, { payer: other.terms.payTo }),
      {
        ...(await collecting(listing, payer.address, payer)),
        body: { collect: true, collect_salt: `0x${'1'.repeat(64)}` },
      },
      { ...(await collecting(listing, payer.address, payer)), body: { collect: true } },
    ];
    for (const { v2, body } of wrong) {
      expect(said(await world.buy(listing.id, { proof: v2, body }))).toEqual([402, 'payment_invalid']);
    }
    const foreign = await collecting(listing, payer.address, WORLD_ACCOUNTS.stranger);
    expect(said(await world.buy(listing.id, { proof: foreign.v2, body: foreign.body }))).toEqual([
      402,
      'signature_invalid',
    ]);
  });

  it('without collect it is a proof that does not fit, also where nothing is paid', async () => {
    const priced = await goods();
    const free = await goods({ units: 0n });
    const payer = await wallet();
    const before = await countRows(world.db.database);
    for (const listing of [priced, free]) {
      const { v1, v2 } = await collecting(listing, payer.address, payer);
      for (const proof of [v1, v2]) {
        for (const asked of [{ proof }, { proof, key: buyer.key }] satisfies AskOptions[]) {
          expect(said(await world.buy(listing.id, asked))).toEqual([402, 'payment_invalid']);
        }
      }
    }
    const { salt } = await collecting(priced, payer.address, payer);
    expect((await world.buy(priced.id, { body: { collect_salt: salt } })).status).toBe(400);
    expect(await countRows(world.db.database)).toEqual(before);
  });

  it('a wallet that never bought has nothing to collect, and the 402 says what to sign', async () => {
    const listing = await goods();
    const payer = await wallet();
    const asked = await world.buy(listing.id, { body: { collect: true } });
    expect(asked).toMatchObject({
      status: 402,
      body: { collect: { base_url: BASE_URL, chain_id: 8453, listing_id: Number(listing.id), value: '0' } },
    });
    const { v2, body } = await collecting(listing, payer.address, payer);
    expect(said(await world.buy(listing.id, { proof: v2, body }))).toEqual([404, 'nothing_to_collect']);
    const salted = await world.buy(listing.id, { body });
    expect(salted.body).toMatchObject({ accepts: [{ maxAmountRequired: '0' }] });
  });

  it('the signature over the full value goes on collecting, and is never settled', async () => {
    const { listing, payer } = await soldGoods();
    await world.finalize();
    const proof = await signProof(world.chain, payer, listing.terms);
    expect((await world.buy(listing.id, { proof: proof.v2, body: { collect: true } })).status).toBe(200);
    expect(await paidUnits(world.chain, payer.address, listing.terms.payTo)).toEqual([PRICE]);
  });

  it('submitted by a stranger it moves nothing and collects nothing', async () => {
    const { listing, payer } = await soldGoods();
    await world.finalize();
    const { v2, body, authorization, signature } = await collecting(listing, payer.address, payer);
    await usdcAdmin(world.chain).settleAuthorization(WORLD_ACCOUNTS.stranger, authorization, signature);
    expect(said(await world.buy(listing.id, { proof: v2, body }))).toEqual([409, 'authorization_used_elsewhere']);
    expect(await paidUnits(world.chain, payer.address, listing.terms.payTo)).toEqual([PRICE, 0n]);
  });

  it('a contract wallet says yes at the finalized block too', async () => {
    const listing = await goods();
    const contract = await createContractWallet(world.chain, 10n * PRICE);
    await contract.deploy();
    const proof = await signProof(world.chain, contract.owner, {
      ...listing.terms,
      signed: { from: contract.address },
    });
    expect((await world.buy(listing.id, { proof: proof.v2 })).status).toBe(202);
    await world.finalize();
    const { v2, body } = await collecting(listing, contract.address, contract.owner);
    expect((await world.buy(listing.id, { proof: v2, body })).status).toBe(200);
    // At the last final block this contract did not accept signatures; it does from now on.
    await world.chain.rpc.call('anvil_setCode', [contract.address, YES]);
    await world.chain.mine(1);
    const stranger = await collecting(listing, contract.address, WORLD_ACCOUNTS.stranger);
    expect(said(await world.buy(listing.id, { proof: stranger.v2, body: stranger.body }))).toEqual([
      402,
      'payer_contract_refused',
    ]);
    await world.finalize();
    const final = await collecting(listing, contract.address, WORLD_ACCOUNTS.stranger);
    expect((await world.buy(listing.id, { proof: final.v2, body: final.body })).status).toBe(200);
  });
});

/** Contract code that accepts every signature. */
const YES = `0x7f1626ba7e${'0'.repeat(56)}60005260206000f3`;
