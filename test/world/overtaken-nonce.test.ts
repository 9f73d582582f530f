import sql from 'sql-template-tag';
import { afterAll, expect, it } from 'vitest';
import { toBytes } from '../../src/platform/hex.ts';
import { paidUnits, signProof } from '../support/market-world.ts';
import { startRpcProxy } from '../support/rpc-proxy.ts';
import { PRICE, testTrade } from '../support/trade.ts';

const rpc = await startRpcProxy();
afterAll(() => rpc.close());
const { world, goods, wallet } = testTrade({ rpcUrl: rpc.at });

/** The selector of the last thing that is read of the chain before a payment is opened: what the wallet holds. */
const BALANCE = '0x70a08231';

it('an authorization shown for two goods at once belongs to those whose payment was opened, and to no others', async () => {
  const [one, other, payer] = [await goods(), await goods(), await wallet()];
  // Without a resource, so that nothing in it says for which of the two it is.
  const { resource: _, ...terms } = one.terms;
  const proof = await signProof(world.chain, payer, terms);
  const { held, release } = rpc.holdNext(BALANCE);
  const late = world.buy(one.id, { proof: proof.v1 });
  await held;
  expect((await world.buy(other.id, { proof: proof.v1 })).status).toBe(202);
  release();
  const refused = await late;
  expect([refused.status, refused.body['reason'], refused.body['do_not_pay_again']]).toEqual([
    409,
    'payment_bound_elsewhere',
    true,
  ]);
  const rows = await world.db.database.rows<{ listing_id: bigint }>(
    sql`select listing_id from payments where payer = ${toBytes(payer.address)}`,
  );
  expect(rows).toEqual([{ listing_id: other.id }]);
  expect(await paidUnits(world.chain, payer.address, terms.payTo)).toEqual([PRICE]);
});
