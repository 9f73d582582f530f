import { existsSync, readFileSync } from 'node:fs';
import { LISTING_FEE_TEXT } from '../../contract/money.ts';
import { LISTING_FEE_UNITS } from '../../contract/vocabulary.ts';
import type { OfferOut } from '../../contract/world-records.ts';
import { type CityClient, createCityClient } from '../../sdk/city-client.ts';
import { buyThing } from '../../sdk/world/buy-thing.ts';
import { listThing } from '../../sdk/world/list-thing.ts';
import { WORLD_ACCOUNTS } from '../chain/accounts.ts';
import { fund, transferWallet } from '../chain/transactions.ts';
import { type Exchange, observeRequests } from '../observe.ts';
import {
  BUYER,
  balanceOf,
  check,
  explain,
  keyFile,
  observedClient,
  type Scene,
  SELLER,
  type Step,
  saveKey,
  unitsOf,
  waitFor,
} from './scene.ts';

const PRICE_USDC = 4;
const GAS_WEI = 10n ** 18n;
const { thingSeller, buyerTwo, treasury } = WORLD_ACCOUNTS;

const LIVES_AS = { [SELLER]: 'mira-of-the-hill', [BUYER]: 'tomas-by-the-river' } as const;

export const sellThingStep: Step = {
  name: 'sell-thing',
  title: `${SELLER} sells ${BUYER} a thing of the city, from the draft to its new owner`,
  run: async (scene) => {
    const keys = { [SELLER]: await openAccount(scene, SELLER), [BUYER]: await openAccount(scene, BUYER) };
    const { listingId, offer } = await offerThing(scene, keys[SELLER]);
    await buyAndCheck(scene, { listingId, offer, key: keys[BUYER] });
    explain(
      scene,
      'Two sites that share no secret: each reads what the other tells the public, and each looks at the chain for itself.',
    );
  },
};

/** Links a merchant with its resident; each names the other on its own site. Returns the resident's key. */
async function openAccount(scene: Scene, handle: keyof typeof LIVES_AS): Promise<string> {
  const cityHandle = LIVES_AS[handle];
  const key = await becomeResident(scene, cityHandle);
  const { body: linked } = await observedClient(scene, handle).client.linkCity({ body: { city_handle: cityHandle } });
  const { body: back } = await observedCityClient(scene, key).client.linkMarket({ body: { market_handle: handle } });
  const mutual = linked.merchant.city_handle === cityHandle && back.resident.market_handle === handle;
  check(scene, mutual, `${handle} on the market and ${cityHandle} in the city name each other`);
  return key;
}

async function offerThing(scene: Scene, key: string): Promise<{ listingId: number; offer: OfferOut }> {
  const { client: market } = observedClient(scene, SELLER);
  const { client: city } = observedCityClient(scene, key);
  const name = `The lighthouse of edition ${scene.edition}`;
  const { thing } = (await city.makeThing({ body: { name } })).body;
  const { draft } = (
    await market.draftWorld({
      body: {
        title: name,
        description: 'A lighthouse, with its lamp and its keeper’s house.',
        preview: `See ${thing.url}`,
        price_usdc: PRICE_USDC,
        seller_wallet: thingSeller.address,
        tags: ['demo'],
        thing_id: thing.id,
      },
    })
  ).body;
  const { offer } = (await city.openOffer({ body: { market_draft_id: draft.id, thing_id: thing.id } })).body;
  const locked = (await city.getThing({ params: { id: thing.id } })).body.thing.locked;
  check(scene, offer.phase === 'listed' && locked, `thing ${thing.id} is under offer, and locked in the city`);
  const before = await balanceOf(scene, treasury);
  const listed = await listThing({
    client: market,
    wallet: thingSeller.signer,
    draftId: draft.id,
    cityOfferId: offer.id,
    signal: scene.signal,
  });
  const paid = (await balanceOf(scene, treasury)) - before;
  const { listing } = listed;
  const shown = listing.aisle === 'world' && listing.world_asset_id === thing.id && listing.world_state === 'active';
  check(
    scene,
    paid === LISTING_FEE_UNITS && shown,
    `listing ${listing.id} is in the aisle world, for the fee of ${LISTING_FEE_TEXT}`,
  );
  return { listingId: listing.id, offer };
}

async function buyAndCheck(scene: Scene, sale: { listingId: number; offer: OfferOut; key: string }): Promise<void> {
  const { listingId, offer, key } = sale;
  const { client: market, exchanges: atMarket } = observedClient(scene, BUYER);
  const { client: city, exchanges: inCity } = observedCityClient(scene, key);
  await fund(scene.world.chain, [{ address: buyerTwo.address, wei: GAS_WEI, usdcUnits: unitsOf(PRICE_USDC) }]);
  const before = await balanceOf(scene, thingSeller);
  const receipt = await buyThing({
    ...{ market, city, listingId, cityHandle: LIVES_AS[BUYER], maxPriceUsdc: PRICE_USDC, signal: scene.signal },
    wallet: transferWallet(scene.world.chain, buyerTwo),
  });
  const earned = (await balanceOf(scene, thingSeller)) - before;
  check(scene, earned === unitsOf(PRICE_USDC), `${PRICE_USDC} USDC went from wallet to wallet, once`);
  checkWaited(scene, inCity);
  const { thing } = (await city.getThing({ params: { id: offer.thing_id } })).body;
  const isHis = thing.owner === LIVES_AS[BUYER] && !thing.locked && thing.history[0]?.offer_id === offer.id;
  check(scene, isHis, `${thing.owner} owns “${thing.name}” now, and its history says since which sale`);
  const { listing } = (await market.getListing({ params: { id: listingId } })).body;
  const recorded = listing.state === 'sold' && listing.world_receipt?.tx_hash === receipt.tx_hash;
  check(
    scene,
    recorded && receipt.offer_id === offer.id,
    'the market has looked at the chain itself and shows it as sold',
  );
  const { purchases } = (await market.listPurchases()).body;
  const own = purchases.find((purchase) => purchase.listing_id === listingId);
  check(scene, own?.world_receipt?.thing_id === thing.id, `the receipt is among the purchases of ${BUYER}`);
  await waitFor(async () => {
    const { events } = (await market.listEvents({ query: { kind: 'world_sale' } })).body;
    return events.find(({ detail }) => detail['listing_id'] === listingId) ?? null;
  }, 'a world_sale event');
  check(
    scene,
    atMarket.every(({ status }) => status < 500),
    'and the public log tells of it',
  );
}

/** Checks that the thing changed hands only once the transfer was final. */
function checkWaited(scene: Scene, exchanges: readonly Exchange[]): void {
  const claims = exchanges.filter(({ path }) => path.endsWith('/claim'));
  const early = claims.slice(0, -1);
  const waited = early.some(({ status }) => status === 202) && claims.at(-1)?.status === 200;
  const locked = early.every(({ body }) => ((body['offer'] ?? {}) as Record<string, unknown>)['phase'] !== 'claimed');
  check(scene, waited && locked, '202, then 200: the thing changed hands once the transfer was final, and not before');
}

/** Creates a client of the city whose requests are reported. Without a key it is anonymous. */
function observedCityClient(scene: Scene, key: string | null): { client: CityClient; exchanges: Exchange[] } {
  const { environment, exchanges } = observeRequests(scene.tell, 'city');
  const client = createCityClient({ baseUrl: scene.world.cityUrl, environment, ...(key === null ? {} : { key }) });
  return { client, exchanges };
}

/** Returns the key of that resident. Registers the resident if the folder has no key. The market never sees this key. */
async function becomeResident(scene: Scene, handle: string): Promise<string> {
  const file = scene.world.residentFile(handle);
  if (existsSync(file)) return keyFile.parse(JSON.parse(readFileSync(file, 'utf8'))).merchant_key;
  const { client } = observedCityClient(scene, null);
  const { body: staged } = await client.registerResident({
    body: { action: 'stage', handle, model: 'a demo', client_class: 'coding_persistent', human_approved: true },
  });
  if (staged.status !== 'staged') throw new Error('the stage step got an unexpected answer');
  const { session, csrf, merchant_key: key } = staged;
  saveKey(file, { handle, merchant_key: key });
  const { body: confirmed } = await client.registerResident({ body: { action: 'confirm', session, csrf }, key });
  const is = confirmed.status === 'confirmed' && confirmed.handle === handle;
  check(scene, is, `${handle} lives in the city, under a key of the city's own`);
  return key;
}
