/** Kills a city with SIGKILL again and again in the middle of a sale. The buyer uses only the SDK. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testAccount } from '../../src/local/chain/accounts.ts';
import { fund, transferWallet } from '../../src/local/chain/transactions.ts';
import { type ServerProcess, startServer } from '../../src/local/server-process.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { type CityClient, createCityClient } from '../../src/sdk/city-client.ts';
import { type Client, createClient } from '../../src/sdk/client.ts';
import { buyThing } from '../../src/sdk/world/buy-thing.ts';
import { listThing } from '../../src/sdk/world/list-thing.ts';
import type { ThingProgress } from '../../src/sdk/world/thing-options.ts';
import { rotated } from '../suite/rotation.ts';
import { compileCache } from '../support/compile-cache.ts';
import { createTestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { startWorld, type World } from '../support/market-world.ts';

const PRICE_USDC = 3;
const PRICE = 3_000_000n;
const WEI = 10n ** 18n;
const MAIN = new URL('../../src/city/main.ts', import.meta.url);

let market: World;
let city: ServerProcess;
let start: () => Promise<ServerProcess>;
let cityUrl: string;
let clean: () => Promise<void>;
let made = 0;

beforeAll(async () => {
  const [marketPort, cityPort] = [await freePort(), await freePort()];
  cityUrl = `http://127.0.0.1:${cityPort}`;
  market = await startWorld({ cityUrl, port: marketPort, chain: { blockTimeSeconds: 1 } });
  await market.join('the-keeper');
  const db = await createTestDatabase({ site: 'city' });
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-city-'));
  const pepper = join(folder, 'pepper');
  await writeFile(pepper, `1:${systemRandom.bytes(32).toString('hex')}\n`, { mode: 0o600 });
  start = () =>
    startServer({
      name: 'city',
      main: MAIN,
      env: {
        ...compileCache(),
        CITY_PORT: String(cityPort),
        CITY_DATA_DIR: join(folder, 'data'),
        CITY_DATABASE_URL: db.url,
        CITY_PEPPER_FILE: pepper,
        CITY_MARKET_URL: market.url,
        CITY_RPC_URLS: market.chain.url,
        CITY_FINALITY_MIN_AGE_SECONDS: '0',
        CITY_LIMITS: JSON.stringify({ registration_per_ip_hour: 1_000, confirm_per_ip_hour: 1_000 }),
      },
      logFile: join(folder, 'city.log'),
      readyUrl: `${cityUrl}/readyz`,
      signal: new AbortController().signal,
    });
  city = await start();
  clean = async () => {
    await city.stop();
    await market.stop();
    await db.drop();
    await rm(folder, { recursive: true, force: true });
  };
}, 60_000);
afterAll(() => clean?.(), 60_000);

async function killCity(): Promise<void> {
  process.kill(city.pid, 'SIGKILL');
  await city.exited;
  city = await start();
}

interface Trader {
  market: Client;
  city: CityClient;
  cityHandle: string;
  account: ReturnType<typeof testAccount>;
}

async function trader(name: string): Promise<Trader> {
  made += 1;
  const handle = `${name}-${made}`;
  const member = await market.join(handle);
  const anybody = createCityClient({ baseUrl: cityUrl });
  const cityHandle = `${handle}-in-town`;
  const { body: staged } = await anybody.registerResident({
    body: {
      action: 'stage',
      handle: cityHandle,
      model: 'a test',
      client_class: 'coding_ephemeral',
      human_approved: true,
    },
  });
  if (staged.status !== 'staged') throw new Error('nothing was staged');
  const { session, csrf, merchant_key: key } = staged;
  await anybody.registerResident({ body: { action: 'confirm', session, csrf }, key });
  const account = testAccount(`trader ${handle}`);
  await fund(market.chain, [{ address: account.address, usdcUnits: 4n * PRICE, wei: WEI }]);
  const trading = {
    market: createClient({ baseUrl: market.url, key: member.key }),
    city: createCityClient({ baseUrl: cityUrl, key }),
    cityHandle,
    account,
  };
  await trading.market.linkCity({ body: { city_handle: cityHandle } });
  await trading.city.linkMarket({ body: { market_handle: handle } });
  await market.running.eventsSettled();
  return trading;
}

async function thingFor(seller: Trader): Promise<{ listingId: number; thingId: number }> {
  const { thing } = (await seller.city.makeThing({ body: { name: `A thing to survive ${made}` } })).body;
  const { draft } = (
    await seller.market.draftWorld({
      body: {
        ...{ title: thing.name, description: 'What it is', preview: '', tags: [], thing_id: thing.id },
        ...{ price_usdc: PRICE_USDC, seller_wallet: seller.account.address },
      },
    })
  ).body;
  const { offer } = (await seller.city.openOffer({ body: { market_draft_id: draft.id, thing_id: thing.id } })).body;
  const wallet = seller.account.signer;
  const listed = await listThing({ client: seller.market, wallet, draftId: draft.id, cityOfferId: offer.id });
  return { listingId: listed.listing_id, thingId: thing.id };
}

test.each(rotated(import.meta.filename, ['reserved', 'sent', 'pending', 'claimed'] as const))(
  'a city killed when the sale is %s comes back to it, and one transfer is sent',
  async (moment) => {
    const seller = await trader('seller');
    const buyer = await trader('buyer');
    const { listingId, thingId } = await thingFor(seller);
    let killed: Promise<void> | null = null;
    const sent: string[] = [];
    const wallet = transferWallet(market.chain, buyer.account);
    const receipt = await buyThing({
      ...{ market: buyer.market, city: buyer.city, listingId, cityHandle: buyer.cityHandle, maxPriceUsdc: PRICE_USDC },
      wallet: {
        ...wallet,
        sendUsdc: async (asked) => {
          const hash = await wallet.sendUsdc(asked);
          sent.push(hash);
          return hash;
        },
      },
      onProgress: ({ phase }: ThingProgress) => {
        if (phase === moment) killed ??= killCity();
      },
    });
    await killed;
    expect(killed).not.toBeNull();
    expect(sent).toEqual([receipt.tx_hash]);
    const { thing } = (await buyer.city.getThing({ params: { id: thingId } })).body;
    expect(thing).toMatchObject({ owner: buyer.cityHandle, locked: false, history_total: 2 });
    await market.running.eventsSettled();
    const { listing } = (await buyer.market.getListing({ params: { id: listingId } })).body;
    expect(listing).toMatchObject({ state: 'sold', sales: 1, world_receipt: receipt });
  },
  90_000,
);
