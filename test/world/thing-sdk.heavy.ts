/** A buyer uses only the SDK, which refuses bad offers before sending and sends only once, whatever fails. */
import { expect, test } from 'vitest';
import { transferFinder, transferWallet } from '../../src/local/chain/transactions.ts';
import { createCityClient } from '../../src/sdk/city-client.ts';
import { createClient } from '../../src/sdk/client.ts';
import { TransferNotSent } from '../../src/sdk/payments/direct/transfer-errors.ts';
import type { TransferWallet } from '../../src/sdk/payments/direct/transfer-options.ts';
import { buyThing } from '../../src/sdk/world/buy-thing.ts';
import { type BuyThingOptions, createMemoryThingStore } from '../../src/sdk/world/thing-options.ts';
import { type Person, PRICE_USDC, type Thing, testSites } from './thing-stage.ts';

const sites = testSites();

interface Stage {
  thing: Thing;
  buyer: Person;
  options: BuyThingOptions;
  /** All transfers that the wallet was asked to make. */
  sent: string[];
}

/** Sets up a reserved thing and its buyer's SDK. Each wait mines a few blocks, since time moves only with the chain. */
async function stage(change: (wallet: TransferWallet) => Partial<TransferWallet> = () => ({})): Promise<Stage> {
  const thing = await sites.thing(await sites.person('seller'));
  const buyer = await sites.person('buyer');
  await sites.time.moveOn(sites.market, 1);
  const environment = { now: () => sites.time.clock.now(), sleep: () => sites.finalize() };
  const sent: string[] = [];
  const plain = transferWallet(sites.market.chain, buyer.wallet);
  const noting: TransferWallet = {
    ...plain,
    sendUsdc: async (asked) => {
      const hash = await plain.sendUsdc(asked);
      sent.push(hash);
      return hash;
    },
  };
  const options: BuyThingOptions = {
    market: createClient({ baseUrl: sites.toMarket.url, key: buyer.merchant.key, environment }),
    city: createCityClient({ baseUrl: sites.toCity.url, key: buyer.resident.key, environment }),
    wallet: { ...noting, ...change(noting) },
    listingId: thing.listingId,
    cityHandle: buyer.resident.handle,
    maxPriceUsdc: PRICE_USDC,
    store: createMemoryThingStore(),
    findTransfer: transferFinder(sites.market.chain),
  };
  return { thing, buyer, options, sent };
}

test('a thing is bought with one transfer, and asked for again it is found and nothing is sent', async () => {
  const { thing, buyer, options, sent } = await stage();
  const phases: string[] = [];
  const receipt = await buyThing({ ...options, onProgress: ({ phase }) => phases.push(phase) });
  expect(receipt).toMatchObject({ thing_id: thing.thingId, city_handle: buyer.resident.handle, tx_hash: sent[0] });
  expect([...new Set(phases)]).toEqual(['reserved', 'sent', 'pending', 'claimed', 'recorded']);
  expect(await buyThing(options)).toEqual(receipt);
  expect(sent).toHaveLength(1);
});

test.each([
  ['another wallet', { seller_wallet: `0x${'11'.repeat(20)}` }, 'wrong_payee'],
  ['a higher amount', { amount_units: '999999999' }, 'wrong_amount'],
  ['another token', { asset: `0x${'22'.repeat(20)}` }, 'wrong_asset'],
  ['another chain', { chain_id: 1 }, 'wrong_network'],
  ['another text to sign', { challenge: 'service: another service' }, 'wrong_intent'],
  ['hardly any time', { reserved_until: '2020-01-01T00:00:00.000Z' }, 'wrong_intent'],
])('a city that asks for %s is refused before anything is signed', async (_, changes, why) => {
  let signed = 0;
  const { options, sent } = await stage((wallet) => ({
    signMessage: async (asked) => {
      signed += 1;
      return await wallet.signMessage(asked);
    },
  }));
  sites.toCity.twist(({ path, json, status }) =>
    path.endsWith('/reserve')
      ? { status, json: { reservation: { ...(json as { reservation: object }).reservation, ...changes } } }
      : null,
  );
  await expect(buyThing(options)).rejects.toMatchObject({ name: 'TermsRefused', why });
  sites.toCity.twist(null);
  expect([signed, sent.length]).toEqual([0, 0]);
});

test('a price above the limit is refused before anything is reserved', async () => {
  const { thing, options } = await stage();
  await expect(buyThing({ ...options, maxPriceUsdc: PRICE_USDC - 1 })).rejects.toMatchObject({
    why: 'price_above_limit',
  });
  expect((await sites.offer(thing))['phase']).toBe('listed');
});

test('who crashed between sending and noting the hash finds the transfer, and sends no other', async () => {
  const { options, sent } = await stage((wallet) => ({
    sendUsdc: async (asked) => {
      await wallet.sendUsdc(asked);
      throw new Error('the process died here');
    },
  }));
  await expect(buyThing(options)).rejects.toMatchObject({ name: 'ThingMayBePaid', doNotPayAgain: true });
  const { findTransfer: _, ...blind } = options;
  await expect(buyThing(blind)).rejects.toMatchObject({ name: 'ThingMayBePaid' });
  const receipt = await buyThing(options);
  expect(sent).toEqual([receipt.tx_hash]);
});

test('a wallet that declines has paid nothing, and may be asked again', async () => {
  let declined = false;
  const { options, sent } = await stage((wallet) => ({
    sendUsdc: async (asked) => {
      if (declined) return await wallet.sendUsdc(asked);
      declined = true;
      throw new TransferNotSent('the owner said no');
    },
  }));
  await expect(buyThing(options)).rejects.toMatchObject({ name: 'TransferNotSent' });
  expect((await buyThing(options)).tx_hash).toBe(sent[0]);
});

test('a transfer that does not fit is told as what it is, and nothing more is sent', async () => {
  const { options, sent } = await stage((wallet) => ({
    sendUsdc: async (asked) => await wallet.sendUsdc({ ...asked, units: asked.units - 1n }),
  }));
  const refused = { name: 'ThingRefused', doNotPayAgain: true };
  await expect(buyThing(options)).rejects.toMatchObject(refused);
  await expect(buyThing(options)).rejects.toMatchObject(refused);
  expect(sent).toHaveLength(1);
});
