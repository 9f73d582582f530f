import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { refreshSigners } from '../../src/market/payments/facilitator/refresh-signers.ts';
import { fundedWallet } from '../support/list-goods.ts';
import { BASE_URL, type Member, signProof, startWorld, type World } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';

const PRICE = 2_500_000n;
let world: World | undefined;
let seller: Member;
let buyer: Member;
let isMute = false;

/** The real facilitator behind a front whose /supported can be silenced. */
const front = createServer(async (request, response) => {
  if (world === undefined || (isMute && request.url === '/supported')) return void response.writeHead(503).end('{}');
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  const answer = await fetch(`${world.facilitator.url}${request.url}`, {
    method: request.method ?? 'GET',
    headers: { 'content-type': 'application/json' },
    body: chunks.length === 0 ? null : Buffer.concat(chunks),
  });
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
});
await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));

beforeAll(async () => {
  world = await startWorld({ facilitatorUrl: `http://127.0.0.1:${(front.address() as AddressInfo).port}` });
  await world.join('the-keeper');
  seller = await world.join('seller-one');
  buyer = await world.join('buyer-one');
});
afterAll(async () => {
  await world?.stop();
  front.close();
  front.closeAllConnections();
});

it('a facilitator whose list of signers cannot be read for a while does not take the goods from the key', async () => {
  if (world === undefined) throw new Error('no world');
  await world.running.payments.reconcileOnce();
  expect(await refreshSigners(world.running.market)).toBe(true);
  isMute = true;
  // As ten minutes later.
  await world.db.database.run(sql`update facilitator_signers set last_seen_at = last_seen_at - interval '10 minutes'`);
  await world.db.database.run(sql`update facilitator_readings set read_at = read_at - interval '10 minutes'`);
  const payTo = WORLD_ACCOUNTS.sellerOne.address;
  const { id } = await seedListing(world.db.database, seller.id, { wallet: payTo, priceUnits: PRICE });
  const terms = { payTo, units: PRICE, resource: `${BASE_URL}/api/buy/${id}` };
  const proof = await signProof(world.chain, await fundedWallet(world), terms);
  expect((await world.buy(id, { key: buyer.key, proof: proof.v2 })).status).toBe(202);
  await world.finalize();
  const answer = await world.buy(id, { key: buyer.key });
  expect([answer.status, answer.body['reason']]).toEqual([200, undefined]);
});
