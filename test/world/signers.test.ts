import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import sql from 'sql-template-tag';
import { afterAll, expect, it } from 'vitest';
import { refreshSigners } from '../../src/market/payments/paths/x402/facilitator.ts';
import { signProof } from '../support/market-world.ts';
import { testTrade } from '../support/trade.ts';

// The facilitator does not name its signers until the market has started.
let isMute = true;

/** A proxy in front of the real facilitator that can withhold /supported. */
const front = createServer(async (request, response) => {
  if (isMute && request.url === '/supported') return void response.writeHead(503).end('{}');
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

afterAll(() => {
  front.close();
  front.closeAllConnections();
});

const { world, buyer, goods, wallet } = testTrade({
  facilitatorUrl: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
});

it('a facilitator whose list of signers cannot be read for a while does not take the goods from the key', async () => {
  isMute = false;
  await world.running.payments.reconcileOnce();
  expect(await refreshSigners(world.running.market)).toBe(true);
  isMute = true;
  // Pretend that ten minutes have passed.
  await world.db.database.run(sql`update facilitator_signers set last_seen_at = last_seen_at - interval '10 minutes'`);
  await world.db.database.run(sql`update facilitator_readings set read_at = read_at - interval '10 minutes'`);
  const { id, terms } = await goods();
  const proof = await signProof(world.chain, await wallet(), terms);
  expect((await world.buy(id, { key: buyer.key, proof: proof.v2 })).status).toBe(202);
  await world.finalize();
  const answer = await world.buy(id, { key: buyer.key });
  expect([answer.status, answer.body['reason']]).toEqual([200, undefined]);
});
