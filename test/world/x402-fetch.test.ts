import { ExactEvmScheme } from '@x402/evm/exact/client';
import { ExactEvmSchemeV1 } from '@x402/evm/exact/v1/client';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { paidUnits } from '../support/market-world.ts';
import { scriptedTrade } from '../support/trade.ts';

// Tests a third party's client that signs a new authorization for every 402.
const PRICE = 500_000n;
const { sellerOne } = WORLD_ACCOUNTS;
const { facilitator, forward, world, goods, wallet } = await scriptedTrade();

async function payingFetch() {
  const payer = await wallet(10n * PRICE);
  const client = new x402Client().register('eip155:8453', new ExactEvmScheme(payer.signer));
  return { payer, pay: wrapFetchWithPayment(fetch, client) };
}

it('an @x402/fetch client that signs again at each call pays once and ends with the goods', async () => {
  forward();
  const { payer, pay } = await payingFetch();
  const listing = await goods({ units: PRICE, artifact: 'goods for a foreign client' });
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
  const { payer, pay } = await payingFetch();
  const listing = await goods({ units: PRICE });
  const url = `${world.url}/api/buy/${listing.id}`;
  for (let call = 0; call < 5; call += 1) expect([202, 503]).toContain((await pay(url, { method: 'POST' })).status);
  await world.finalize();
  expect((await pay(url, { method: 'POST' })).status).toBe(200);
  expect(await paidUnits(world.chain, payer.address, sellerOne.address)).toEqual([PRICE]);
});

it('one that knows version 1 alone takes the header first, and signs nothing', async () => {
  forward();
  const payer = await wallet(10n * PRICE);
  const client = new x402Client().registerV1('base', new ExactEvmSchemeV1(payer.signer));
  const { id } = await goods({ units: PRICE });
  const paying = wrapFetchWithPayment(fetch, client)(`${world.url}/api/buy/${id}`, { method: 'POST' });
  // docs/agents.md documents this error.
  await expect(paying).rejects.toThrow('No client registered for x402 version: 2');
});
