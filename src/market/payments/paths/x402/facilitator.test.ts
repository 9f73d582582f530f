/** Tests that the facilitator's last least price stays valid while the facilitator names none. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../../../../test/support/database.ts';
import { marketContext, settableClock } from '../../../../../test/support/market-context.ts';
import type { Hex } from '../../../../platform/hex.ts';
import { Refusal } from '../../../../platform/refusal.ts';
import type { Terms } from '../../terms.ts';
import { createX402Gate } from './facilitator.ts';

const PAYEE: Hex = `0x${'1'.repeat(40)}`;
const PAYER: Hex = `0x${'2'.repeat(40)}`;
const SALE = { purpose: 'purchase', payee: PAYEE, resource: 'http://127.0.0.1/', description: 'goods' } as const;
const CHEAP: Terms = { ...SALE, valueUnits: 4_999n };
const DEAR: Terms = { ...SALE, valueUnits: 5_000n };
const STATE = { settlements_covered: 1_000, least_price_units: 5_000, may_settle: true };

const db = testDatabase();
let reply: { status: number; body: object } = { status: 200, body: STATE };
const server = createServer((_, response) => {
  response.writeHead(reply.status, { 'content-type': 'application/json' }).end(JSON.stringify(reply.body));
});

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
});

beforeEach(() => {
  reply = { status: 200, body: STATE };
});

afterAll(() => {
  server.close();
  server.closeAllConnections();
});

function gateAt(startMs: number) {
  const clock = settableClock(startMs);
  const market = marketContext({ database: db.database, clock });
  const { port } = server.address() as AddressInfo;
  const config = { ...market.config, facilitatorUrl: `http://127.0.0.1:${port}` };
  const gate = createX402Gate({ ...market, config });
  const outcome = async (asked: Promise<void>): Promise<string> => {
    const refusal = await asked.catch((error: unknown) => error);
    return refusal instanceof Refusal ? refusal.reason : String(refusal ?? 'offered');
  };
  return {
    clock,
    /** Runs both checks: before a signature and before a row. */
    outcomes: async (terms: Terms) => [
      await outcome(gate.beforeSigning(terms, null)),
      await outcome(gate.mustBeOffered(terms, PAYER)),
      await gate.leastPriceUnits(),
    ],
  };
}

const REFUSED = ['x402_not_offered', 'x402_not_offered', 5_000n];
const START_MS = 1_800_000_000_000;

test.each([
  ['fails', { status: 500, body: {} }],
  ['has no such route any more', { status: 404, body: {} }],
  ['knows no price', { status: 200, body: { ...STATE, least_price_units: null } }],
])('a facilitator that %s is held to the least price it named within the last minute', async (_, failure) => {
  const { clock, outcomes } = gateAt(START_MS);
  expect(await outcomes(CHEAP)).toEqual(REFUSED);
  reply = failure;
  for (const seconds of [11, 25, 59]) {
    clock.set(START_MS + seconds * 1_000);
    expect(await outcomes(CHEAP)).toEqual(REFUSED);
    expect(await outcomes(DEAR)).toEqual(['offered', 'offered', 5_000n]);
  }
  clock.set(START_MS + 71_000);
  expect(await outcomes(CHEAP)).toEqual(['offered', 'offered', null]);
});

test('a facilitator that never named a price is held to none', async () => {
  reply = { status: 404, body: {} };
  expect(await gateAt(START_MS).outcomes(CHEAP)).toEqual(['offered', 'offered', null]);
});
