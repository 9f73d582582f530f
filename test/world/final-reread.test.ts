import { afterAll, afterEach, expect, it } from 'vitest';
import { readBlock } from '../../src/platform/chain/reads.ts';
import { claim, createWorldTime, latestSecond, payDirectly } from '../support/direct.ts';
import { signProof } from '../support/market-world.ts';
import { startRpcProxy } from '../support/rpc-proxy.ts';
import { GAS_WEI, PRICE, testTrade } from '../support/trade.ts';

const rpc = await startRpcProxy();
afterAll(() => rpc.close());
afterEach(() => rpc.heal());
const time = createWorldTime();
const { world, buyer, goods, wallet, statusOf } = testTrade({ rpcUrl: rpc.at, clock: time.clock });

/** Finalizes everything mined so far, so that it lies below the finalized head. Returns that head. */
async function finalizeBelowTheHead(): Promise<bigint> {
  await world.finalize();
  await world.finalize();
  return (await readBlock(world.chain.rpc, 'finalized'))?.number ?? 0n;
}

/** After the first receipt, shows another hash for the finalized block, as a load balancer that switches nodes would. */
function switchNodes(finalized: bigint): void {
  let hasSwitched = false;
  rpc.twist((result, { method, params }) => {
    if (method === 'eth_getTransactionReceipt') hasSwitched = true;
    const isFinalized = method === 'eth_getBlockByNumber' && params[0] === `0x${finalized.toString(16)}`;
    return hasSwitched && isFinalized ? { ...(result as object), hash: `0x${'0b'.repeat(32)}` } : result;
  });
}

it('a payment by x402 waits while the finalized block is another one when it is looked at again', async () => {
  const { id, artifact, terms } = await goods();
  const proof = await signProof(world.chain, await wallet(), terms);
  expect((await world.buy(id, { key: buyer.key, proof: proof.v2 })).status).toBe(202);
  switchNodes(await finalizeBelowTheHead());
  expect((await world.buy(id, { key: buyer.key })).status).toBe(202);
  expect(await statusOf(proof)).toMatchObject({ payment_status: 'payment_pending', do_not_pay_again: true });
  rpc.heal();
  expect(await world.buy(id, { key: buyer.key })).toMatchObject({ status: 200, body: { artifact } });
});

it('and so does a claim', async () => {
  const { id, artifact } = await goods();
  const paid = await payDirectly(world, {
    buyer,
    listingId: id,
    payer: await wallet(PRICE, GAS_WEI),
    units: PRICE,
  });
  switchNodes(await finalizeBelowTheHead());
  expect(await claim(world, buyer, id, paid)).toMatchObject({ status: 202, body: { do_not_pay_again: true } });
  rpc.heal();
  expect(await claim(world, buyer, id, paid)).toMatchObject({ status: 200, body: { artifact } });
});

it('a claim whose block was seen, and which the provider shows no more, is not refused when its time is over', async () => {
  const { id, artifact } = await goods();
  const payer = await wallet(PRICE, GAS_WEI);
  const paid = await payDirectly(world, { buyer, listingId: id, payer, units: PRICE });
  expect((await claim(world, buyer, id, paid)).status).toBe(202);
  rpc.twist((result, { method }) => {
    const block = method === 'eth_getBlockByNumber' ? (result as { transactions: string[] } | null) : null;
    const isForgotten = method === 'eth_getTransactionReceipt' || block?.transactions.includes(paid.txHash) === true;
    return isForgotten ? null : result;
  });
  await time.moveTo(world, (await latestSecond(world)) + 1_000);
  await world.finalize();
  expect(await claim(world, buyer, id, paid)).toMatchObject({ status: 202, body: { do_not_pay_again: true } });
  rpc.heal();
  expect(await claim(world, buyer, id, paid)).toMatchObject({ status: 200, body: { artifact } });
});
