import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/fund.ts';
import { type Member, paidUnits, startWorld, type World } from '../support/market-world.ts';
import { startScriptedFacilitator } from '../support/scripted-facilitator.ts';
import { seedListing } from '../support/seed.ts';

// A client of somebody else's making, which signs a new authorization at every call that is answered 402.
const PRICE = 500_000n;
const { sellerOne } = WORLD_ACCOUNTS;

let world: World;
let seller: Member;
const facilitator = await startScriptedFacilitator();

beforeAll(async () => {
  world = await startWorld({ facilitatorUrl: facilitator.url });
  await world.join('the-keeper');
  seller = await world.join('seller-one');
});
afterAll(async () => {
  await world?.stop();
  await facilitator.close();
});

async function payingFetch(name: string) {
  const payer = testAccount(name);
  await fund(world.chain, [{ address: payer.address, usdcUnits: 10n * PRICE }]);
  const client = new x402Client().register('eip155:8453', new ExactEvmScheme(payer.signer));
  return { payer, pay: wrapFetchWithPayment(fetch, client) };
}

it('an @x402/fetch client that signs anew at each call pays once and ends with the goods', async () => {
  facilitator.script({ verify: 'forward', settle: 'forward', to: world.facilitator.url });
  const { payer, pay } = await payingFetch('foreign client one');
  const listing = await seedListing(world.db.database, seller.id, {
    wallet: sellerOne.address,
    priceUnits: PRICE,
    artifact: 'goods for a foreign client',
  });
  const url = `${world.url}/api/buy/${listing.id}`;
  const statuses: number[] = [];
  for (let call = 0; call < 4; call += 1) statuses.push((await pay(url, { method: 'POST' })).status);
  expect(statuses).toEqual([202, 202, 202, 202]);
  await world.finalize();
  const delivered = await pay(url, { method: 'POST' });
  expect(delivered.status).toBe(200);
  expect(await delivered.json()).toMatchObject({ artifact: 'goods for a foreign client' });
  expect(await paidUnits(world.chain, payer.address, sellerOne.address)).toEqual([PRICE]);
});

it('the same, where the facilitator keeps silent about what it settled', async () => {
  facilitator.script({ verify: 'forward', settle: 'forward_then_cut', to: world.facilitator.url });
  const { payer, pay } = await payingFetch('foreign client two');
  const listing = await seedListing(world.db.database, seller.id, { wallet: sellerOne.address, priceUnits: PRICE });
  const url = `${world.url}/api/buy/${listing.id}`;
  for (let call = 0; call < 5; call += 1) expect([202, 503]).toContain((await pay(url, { method: 'POST' })).status);
  await world.finalize();
  expect((await pay(url, { method: 'POST' })).status).toBe(200);
  expect(await paidUnits(world.chain, payer.address, sellerOne.address)).toEqual([PRICE]);
});
