import { describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { usdcAdmin } from '../support/chain.ts';
import { countRows } from '../support/database.ts';
import { type Answer, signProof } from '../support/market-world.ts';
import { PRICE, testTrade } from '../support/trade.ts';
import { createContractWallet } from './contract-wallet.ts';

const { stranger } = WORLD_ACCOUNTS;

/** Offset of the market's and the chain's time from real time. It only grows. */
let offsetMs = 0;
const clock = { now: () => systemClock.now() + offsetMs, sleep: systemClock.sleep };
const { world, goods, wallet, seller } = testTrade({ clock });

async function moveTime(seconds: number): Promise<void> {
  offsetMs += seconds * 1000;
  await world.chain.rpc.call('evm_increaseTime', [seconds]);
  await world.chain.mine(1);
}

const said = ({ status, body }: Answer) => [status, body['reason'], body['do_not_pay_again']];
const PAID = [409, 'authorization_used_elsewhere', true];
const USED = [409, 'authorization_used_elsewhere', false];

describe('an authorization that was used', () => {
  it('is never answered 402: in time, run out, or for other terms', async () => {
    const { id, terms } = await goods();
    const payer = await wallet();
    const admin = usdcAdmin(world.chain);
    const proof = await signProof(world.chain, payer, { ...terms, secondsAhead: 60 });
    await admin.settleAuthorization(stranger, proof.authorization, proof.signature);
    expect(said(await world.buy(id, { proof: proof.v2 }))).toEqual(PAID);
    const dearer = await goods({ units: 2n * PRICE });
    const { resource: _, ...bare } = terms;
    const other = await signProof(world.chain, payer, { ...bare, signed: { value: PRICE } });
    await admin.settleAuthorization(stranger, other.authorization, other.signature);
    expect(said(await world.buy(dearer.id, { proof: other.v1 }))).toEqual(USED);
    await moveTime(120);
    expect(said(await world.buy(id, { proof: proof.v2 }))).toEqual(PAID);
    await moveTime(500);
    await world.chain.mine(30);
    expect(said(await world.buy(id, { proof: proof.v1 }))).toEqual(PAID);
  });

  it('cancelled, it paid nothing; unused and run out, another may be signed', async () => {
    const { id, terms } = await goods();
    const payer = await wallet();
    const cancelled = await signProof(world.chain, payer, { ...terms, secondsAhead: 60 });
    await usdcAdmin(world.chain).cancelAuthorization(stranger, payer, cancelled.authorization.nonce);
    const unused = await signProof(world.chain, payer, { ...terms, secondsAhead: 60 });
    await moveTime(61);
    expect(said(await world.buy(id, { proof: cancelled.v2 }))).toEqual(USED);
    expect(said(await world.buy(id, { proof: unused.v2 }))).toEqual([402, 'payment_invalid', false]);
  });

  it('by a contract wallet that says no today, it is told that it paid', async () => {
    const { id, terms } = await goods();
    const contract = await createContractWallet(world.chain, 10n * PRICE);
    await contract.deploy();
    const proof = await signProof(world.chain, contract.owner, { ...terms, signed: { from: contract.address } });
    await usdcAdmin(world.chain).settleAuthorization(stranger, proof.authorization, proof.signature);
    await world.chain.rpc.call('anvil_setCode', [contract.address, '0x60006000fd']);
    expect(said(await world.buy(id, { proof: proof.v2 }))).toEqual(PAID);
  });

  it('as the fee of a listing it is told the same', async () => {
    const fee = { payTo: WORLD_ACCOUNTS.treasury.address, units: 1_000_000n, now: clock.now() };
    const proof = await signProof(world.chain, await wallet(), fee);
    await usdcAdmin(world.chain).settleAuthorization(stranger, proof.authorization, proof.signature);
    const body = {
      ...{ title: 'Goods with a fee', description: 'd', preview: '', artifact: 'of the used fee' },
      ...{ price_usdc: 1, seller_wallet: WORLD_ACCOUNTS.sellerOne.address },
    };
    expect(said(await world.ask('POST', '/api/listing', { key: seller.key, body, proof: proof.v2 }))).toEqual(PAID);
  });
});

describe('a wallet that holds too little', () => {
  it('is told balance and price before a row is opened, and the same proof serves once it is funded', async () => {
    const { id, terms } = await goods();
    const payer = await wallet(PRICE - 1n);
    const proof = await signProof(world.chain, payer, terms);
    const before = await countRows(world.db.database);
    const poor = await world.buy(id, { proof: proof.v2 });
    expect(said(poor)).toEqual([402, 'insufficient_funds', false]);
    expect(poor.body).toMatchObject({ balance_usdc: 2.499999, price_usdc: 2.5, retry: 'same_proof' });
    expect(await countRows(world.db.database)).toEqual(before);
    await fund(world.chain, [{ address: payer.address, usdcUnits: PRICE }]);
    expect((await world.buy(id, { proof: proof.v2 })).status).toBe(202);
  });

  it('with a signature of another wallet its balance is not told', async () => {
    const { id, terms } = await goods();
    const payer = await wallet(1n);
    const forged = await signProof(world.chain, stranger, { ...terms, signed: { from: payer.address } });
    const answer = await world.buy(id, { proof: forged.v2 });
    expect([said(answer), 'balance_usdc' in answer.body]).toEqual([[402, 'signature_invalid', false], false]);
  });
});

it('nothing is opened on a chain that stands still', async () => {
  const { id, terms } = await goods();
  const payer = await wallet();
  await world.chain.mine(1);
  offsetMs += 40_000;
  const proof = await signProof(world.chain, payer, { ...terms, now: clock.now() });
  const before = await countRows(world.db.database);
  expect(said(await world.buy(id, { proof: proof.v2 }))).toEqual([503, 'chain_clock', false]);
  expect(await countRows(world.db.database)).toEqual(before);
  await world.chain.rpc.call('evm_increaseTime', [40]);
  await world.chain.mine(1);
  expect((await world.buy(id, { proof: proof.v2 })).status).toBe(202);
});
