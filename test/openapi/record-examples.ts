import { type TestAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { claim, openFeeIntent, openIntent, payDirectly, signChallenge, transfer } from '../support/direct.ts';
import { freePort } from '../support/free-port.ts';
import {
  type Answer,
  type AskOptions,
  type Member,
  signProof,
  startWorld,
  type World,
} from '../support/market-world.ts';
import { CLIENT_SHAPES, publishDocuments } from '../support/oauth-shapes.ts';
import { seedUpload } from '../support/seed-upload.ts';
import { fundedWallet, newGoods } from '../support/trade.ts';
import { findByChallenge, openHosted, scopeToAsk } from '../world/oauth-hosted.ts';
import { must, type Sites, startSites } from '../world/thing-stage.ts';
import {
  createExampleRecorder,
  type ExampleRecorder,
  type RecordedExample,
  type RecordedExamples,
} from './example-recorder.ts';

const PRICE = 2_500_000n;
const { sellerOne, sellerTwo } = WORLD_ACCOUNTS;
const EXAMPLE_MARKET = 'https://market.example';
const EXAMPLE_CITY = 'https://city.example';

/** Runs every operation of the API on markets with a real chain, and records the answers. */
export async function recordExamples(): Promise<RecordedExamples & { streamEvents: RecordedExample }> {
  const recorder = createExampleRecorder();
  const port = await freePort();
  let stream = '';
  const world = await startWorld({ port, fetchDocument: publishDocuments() });
  try {
    world.ask = recorder.listen(world.ask);
    await recordMarket(world);
    stream = await firstMessage(world);
  } finally {
    await world.stop();
  }
  const sites = await startSites();
  const places = {
    [`http://127.0.0.1:${port}`]: EXAMPLE_MARKET,
    [`127.0.0.1:${port}`]: new URL(EXAMPLE_MARKET).host,
    [world.facilitator.url]: 'https://facilitator.example',
    [sites.market.running.market.config.baseUrl]: EXAMPLE_MARKET,
    [sites.market.running.market.config.cityUrl ?? '']: EXAMPLE_CITY,
  };
  try {
    await recordThings(sites, recorder);
  } finally {
    await sites.stop();
  }
  return { ...recorder.examples(places), streamEvents: { answers: { 200: stream } } };
}

async function firstMessage({ url }: World): Promise<string> {
  const response = await fetch(`${url}/api/events/stream?last_event_id=0`);
  let told = '';
  for await (const bytes of response.body ?? []) {
    told += Buffer.from(bytes).toString('utf8');
    const message = /^id: .*\n(?:.+\n)*\n/m.exec(told);
    // Leaving the loop ends the connection.
    if (message !== null) return message[0];
  }
  throw new Error(`the stream ended: ${told}`);
}

interface Scene {
  world: World;
  keeper: Member;
  seller: Member;
  buyer: Member;
  wallet: TestAccount;
}

async function recordMarket(world: World): Promise<void> {
  const keeper = await world.join('the-keeper');
  const { seller, codes } = await openStore(world);
  const scene: Scene = { world, keeper, seller, buyer: await world.join('ben'), wallet: await fundedWallet(world) };
  const listing = await listForFee(scene);
  await buyByX402(scene, listing);
  await readEverything(scene, listing);
  await speak(scene, listing);
  const withReview = await payByTransfer(scene, listing);
  await must(world.ask('GET', '/api/me?listings_limit=1&sales_limit=1&replies_limit=1', { key: seller.key }), 200);
  await must(
    world.ask('POST', `/api/review/${withReview}`, {
      key: seller.key,
      body: { outcome: 'declined', note: 'Too little.' },
    }),
    200,
  );
  await must(world.ask('GET', `/api/me/listing/${listing}`, { key: seller.key }), 200);
  await showUploads(scene);
  await changeListings(scene);
  await moderate(scene, listing);
  await connect(scene);
  await changeKeys(scene, codes);
}

async function showUploads({ world, seller }: Scene): Promise<void> {
  const rows = Buffer.from('word,number\n'.repeat(10));
  await seedUpload(world.running.market, seller.id, { bytes: rows, filename: 'words.csv', mediaType: 'text/csv' });
  await must(world.ask('GET', '/api/upload', { key: seller.key }), 200);
}

async function openStore(world: World): Promise<{ seller: Member; codes: string[] }> {
  const stage = { handle: 'ada', model: 'a model', client_class: 'coding_persistent', human_approved: true };
  const staged = await must(world.ask('POST', '/api/register', { body: { action: 'stage', ...stage } }), 200);
  const { session, csrf, merchant_key: key, recovery_codes: codes } = staged as Record<string, string>;
  const confirm = { action: 'confirm', session, csrf };
  const made = await must(world.ask('POST', '/api/register', { key: String(key), body: confirm }), 200);
  const seller = { id: BigInt(Number(made['merchant_id'])), handle: 'ada', key: String(key) };
  await must(world.ask('POST', '/api/store', { key: seller.key, body: { line: 'Parsers for invoices' } }), 200);
  return { seller, codes: codes as unknown as string[] };
}

/** Requests, signs the requested payment, and repeats the request until it is done: 402, 202, then 200 or 201. */
async function payFor({ world, wallet }: Scene, path: string, asked: AskOptions): Promise<Record<string, unknown>> {
  const { accepts } = await must(world.ask('POST', path, asked), 402);
  const [terms] = accepts as { payTo: Hex; maxAmountRequired: string; resource: string }[];
  if (terms === undefined) throw new Error('nothing is asked for');
  const { payTo, maxAmountRequired, resource } = terms;
  const proof = await signProof(world.chain, wallet, { payTo, units: BigInt(maxAmountRequired), resource });
  await must(world.ask('POST', path, { ...asked, proof: proof.v2 }), 202);
  await world.finalize();
  const done: Answer = await world.ask('POST', path, { ...asked, proof: proof.v2 });
  if (done.status > 201) throw new Error(`${path}: ${done.status} ${JSON.stringify(done.body)}`);
  return done.body;
}

async function listForFee(scene: Scene): Promise<bigint> {
  const goods = {
    ...{ title: 'Invoice parser', description: 'Reads invoices and answers JSON.', preview: 'Tested on 200 invoices.' },
    ...{ artifact: 'export const parse = (text) => text;', price_usdc: 2.5, seller_wallet: sellerOne.address },
    ...{
      tags: ['invoices'],
      keywords: ['receipts', 'accounts payable'],
      aisle: 'tools',
      license: 'MIT',
      artifact_filename: 'parser.js',
    },
  };
  const made = await payFor(scene, '/api/listing', { key: scene.seller.key, body: goods });
  await scene.world.running.eventsSettled();
  return BigInt(Number(made['listing_id']));
}

async function buyByX402(scene: Scene, listing: bigint): Promise<void> {
  const { world, buyer } = scene;
  const bought = await payFor(scene, `/api/buy/${listing}`, { key: buyer.key, body: { max_price_usdc: 2.5 } });
  const { tx_hash: txHash } = bought['receipt'] as { tx_hash: string };
  await must(world.ask('GET', `/api/payment?tx_hash=${txHash}`), 200);
  await must(world.ask('GET', '/api/purchases?limit=1', { key: buyer.key }), 200);
}

async function readEverything({ world }: Scene, listing: bigint): Promise<void> {
  await world.running.eventsSettled();
  for (const path of [
    ...['/api/official', '/api/help', '/api/window', '/api/events?limit=2', '/treasury?limit=1'],
    ...['/api/shelves?q=invoice&limit=1', '/api/store/ada?limit=1', '/api/merchants?limit=2'],
    `/api/listing/${listing}?comments_limit=1`,
  ])
    await must(world.ask('GET', path), 200);
}

async function speak({ world, buyer, seller }: Scene, listing: bigint): Promise<void> {
  const listing_id = Number(listing);
  const post = (path: string, { key }: Member, body: unknown, status: number) =>
    must(world.ask('POST', path, { key, body }), status);
  const { comment } = await post('/api/comment', buyer, { listing_id, body: 'It reads ours, too.' }, 201);
  const { id } = comment as { id: number };
  await post('/api/comment', seller, { listing_id, parent_id: id, body: 'Thank you.' }, 201);
  await post('/api/vote', buyer, { listing_id }, 200);
  await post('/api/flag', buyer, { target_type: 'listing', target_id: listing_id, reason: 'The preview is old.' }, 201);
}

/** Sends one transfer that pays and one that is too small. Returns the payment in review. */
async function payByTransfer({ world, seller }: Scene, listing: bigint): Promise<number> {
  const [good, poor] = [await world.join('cleo'), await world.join('dan')];
  const [payer, other] = [WORLD_ACCOUNTS.buyerOne, WORLD_ACCOUNTS.buyerTwo];
  const paid = await payDirectly(world, { buyer: good, listingId: listing, payer, units: PRICE });
  await claim(world, good, listing, paid);
  const intent = await openIntent(world, poor, listing);
  const signature = await signChallenge(other, intent);
  const short = { intent, signature, txHash: await transfer(world, other, intent.seller_wallet, PRICE - 1n) };
  await claim(world, poor, listing, short);
  await world.finalize();
  await must(claim(world, good, listing, paid), 200);
  const { payment } = await must(claim(world, poor, listing, short), 422);
  await openFeeIntent(world, seller);
  return (payment as { id: number }).id;
}

async function changeListings({ world, keeper }: Scene): Promise<void> {
  const { key } = keeper;
  const list = async (): Promise<number> => {
    const body = newGoods({ price_usdc: 0, seller_wallet: sellerTwo.address });
    return Number((await must(world.ask('POST', '/api/listing', { key, body }), 201))['listing_id']);
  };
  const [edited, ended] = [await list(), await list()];
  const change = { preview: 'Tested on 300 invoices.' };
  await must(world.ask('PATCH', `/api/listing/${edited}`, { key, body: change }), 200);
  await must(world.ask('DELETE', `/api/listing/${edited}`, { key }), 200);
  const reason = { reason: 'A newer one is coming.' };
  await must(world.ask('POST', `/api/listing/${ended}/withdraw`, { key, body: reason }), 200);
}

async function moderate({ world, keeper, seller }: Scene, listing: bigint): Promise<void> {
  const listing_id = Number(listing);
  const act = (path: string, body: unknown, { key }: Member = keeper) => world.ask('POST', path, { key, body });
  await must(act('/api/mod/pin', { listing_id, pinned: true }), 200);
  await must(act('/api/mod/comment', { comment_id: 2, reason_code: 'spam', reason: 'Twice the same.' }), 200);
  await must(act('/api/mod/remove', { listing_id, reason_code: 'policy', reason: 'The preview is wrong.' }), 200);
  const stated = await must(act('/api/appeal', { listing_id, statement: 'The preview is right.' }, seller), 201);
  const { id } = stated['appeal'] as { id: number };
  const line = {
    target_type: 'store_line',
    target_id: Number(seller.id),
    reason_code: 'policy',
    reason: 'An address.',
  };
  await must(act('/api/mod/text', line), 200);
  await must(act('/api/mod/appeal', { appeal_id: id, outcome: 'restored', reason: 'It is right.' }), 200);
}

async function connect({ world, buyer }: Scene): Promise<void> {
  const manner = { shape: CLIENT_SHAPES.claudeWeb, era: 'legacy', find: findByChallenge, scopeOf: scopeToAsk } as const;
  await openHosted(world, manner, async () => ({ key: buyer.key }));
  const { grants } = await must(world.ask('GET', '/api/grants', { key: buyer.key }), 200);
  const [grant] = grants as { id: string }[];
  await must(world.ask('POST', `/api/grants/${grant?.id}/revoke`, { key: buyer.key, body: {} }), 200);
}

async function changeKeys({ world, seller, buyer }: Scene, codes: readonly string[]): Promise<void> {
  await must(world.ask('POST', '/api/pair', { key: seller.key, body: {} }), 200);
  await must(world.ask('POST', '/api/rotate', { key: buyer.key, body: { action: 'begin' } }), 200);
  const begin = { action: 'begin', recovery_code: codes[0] };
  await must(world.ask('POST', '/api/recovery', { body: begin }), 200);
}

async function recordThings(sites: Sites, recorder: ExampleRecorder): Promise<void> {
  const { market } = sites;
  market.ask = recorder.listen(market.ask);
  const [seller, buyer] = [await sites.person('seller'), await sites.person('buyer')];
  const thing = await sites.thing(seller);
  const reservation = await sites.hold(buyer, thing);
  await must(market.ask('GET', `/api/world/checkout/${reservation.checkoutId}`), 200);
  const txHash = await sites.pay(buyer, reservation);
  await sites.claim(buyer, thing, reservation, txHash);
  await sites.finalize();
  const claimed = await sites.claim(buyer, thing, reservation, txHash);
  await must(Promise.resolve(claimed), 200);
  const sold = await must(
    market.ask('POST', `/api/world/sync/${thing.listingId}`, { key: buyer.merchant.key, body: {} }),
    200,
  );
  if (sold['status'] !== 'completed') throw new Error(`the sale is ${JSON.stringify(sold)}`);
  await must(market.ask('GET', `/api/world/draft/${thing.draftId}`), 200);
  await cancelDraft(sites, seller);
}

async function cancelDraft(
  { market, city }: Sites,
  { merchant, resident, wallet }: Awaited<ReturnType<Sites['person']>>,
) {
  const made = await must(city.ask('POST', '/api/thing', { key: resident.key, body: { name: 'A mirror' } }), 201);
  const { id: thing_id } = made['thing'] as { id: number };
  const told = { title: 'A mirror', description: 'It shows.', preview: '', tags: [], thing_id };
  const body = { ...told, price_usdc: 4, seller_wallet: wallet.address };
  const { draft } = await must(market.ask('POST', '/api/world/draft', { key: merchant.key, body }), 201);
  const { id } = draft as { id: number };
  await must(market.ask('POST', `/api/world/draft/${id}/cancel`, { key: merchant.key, body: {} }), 200);
}
