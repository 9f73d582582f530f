import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { isHex } from '../../src/platform/hex.ts';
import { rawTransaction, reorg, usdcAdmin } from '../support/chain.ts';
import { latestNumber, paidUnits, signProof } from '../support/market-world.ts';
import { FEE_TERMS, listGoods, newGoods, PRICE, scriptedTrade } from '../support/trade.ts';

const { stranger } = WORLD_ACCOUNTS;
type Body = { id: number; method: string; params: unknown[] };
/** Changes a request to the node, or answers it in the node's place. */
let twist: (body: Body) => Body | { error: string } | { result: unknown } = (body) => body;
let calls = 0;
let methods: Record<string, number> = {};
let chainUrl = '';
async function one(body: Body): Promise<unknown> {
  methods[body.method] = (methods[body.method] ?? 0) + 1;
  const next = twist(body);
  if ('error' in next) return { jsonrpc: '2.0', id: body.id, error: { code: -32000, message: next.error } };
  if ('result' in next) return { jsonrpc: '2.0', id: body.id, result: next.result };
  const answer = await fetch(chainUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(next),
  });
  return await answer.json();
}
const proxy = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', async () => {
    const asked = JSON.parse(Buffer.concat(chunks).toString()) as Body | Body[];
    calls += 1;
    response.setHeader('content-type', 'application/json');
    const answers = await Promise.all((Array.isArray(asked) ? asked : [asked]).map(one));
    response.end(JSON.stringify(Array.isArray(asked) ? answers : answers[0]));
  });
});
await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
afterAll(() => {
  proxy.close();
  proxy.closeAllConnections();
});

let offset = 0;
const clock = { now: () => systemClock.now() + offset, sleep: systemClock.sleep };
const { facilitator, forward, world, buyer, goods, wallet, statusOf } = await scriptedTrade({
  rpcUrl: (chain) => {
    chainUrl = chain.url;
    return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  },
  clock,
});

describe('chain, in its corners', () => {
  it('one payment that cannot be read does not hold up the others of the pass', async () => {
    forward();
    const first = await goods();
    const second = await goods();
    const one = await signProof(world.chain, await wallet(), first.terms);
    const two = await signProof(world.chain, await wallet(), second.terms);
    expect((await world.buy(first.id, { key: buyer.key, proof: one.v2 })).status).toBe(202);
    expect((await world.buy(second.id, { key: buyer.key, proof: two.v2 })).status).toBe(202);
    const hash = (await statusOf(one))['tx_hash'];
    await world.finalize();
    twist = (body) =>
      body.method === 'eth_getTransactionReceipt' && body.params[0] === hash
        ? { error: 'response size exceeded' }
        : body;
    await world.running.payments.reconcileOnce();
    twist = (body) => body;
    expect((await statusOf(two))['payment_status']).toBe('completed');
  });

  it('a junk proof costs few calls', async () => {
    const { id, terms } = await goods();
    const payer = await wallet();
    const proof = await signProof(world.chain, payer, terms);
    await world.buy(id);
    calls = 0;
    methods = {};
    const junk = Buffer.from(
      Buffer.from(proof.v2.value, 'base64')
        .toString()
        .replace(proof.signature, `0x${'12'.repeat(32)}${'34'.repeat(32)}1b`),
    ).toString('base64');
    await world.buy(id, { proof: { header: proof.v2.header, value: junk } });
    expect(calls).toBeLessThanOrEqual(1);
  });

  it('20 strangers asking at once about one public nonce cost not 20 readings', async () => {
    forward();
    const { id, terms } = await goods();
    const proof = await signProof(world.chain, await wallet(), terms);
    expect((await world.buy(id, { key: buyer.key, proof: proof.v2 })).status).toBe(202);
    const junk = Buffer.from(
      Buffer.from(proof.v2.value, 'base64').toString().replace(proof.signature, '0x12'),
    ).toString('base64');
    calls = 0;
    methods = {};
    await Promise.all(
      Array.from({ length: 20 }, () => world.buy(id, { proof: { header: proof.v2.header, value: junk } })),
    );
    expect(calls).toBeLessThanOrEqual(60);
  });

  it('a reorganisation that moves the transfer into the block of the opening does not lose the payment', async () => {
    forward();
    const { id, terms } = await goods();
    const payer = await wallet();
    await world.chain.mine(3);
    const proof = await signProof(world.chain, payer, terms);
    const opened = await latestNumber(world.chain);
    expect((await world.buy(id, { key: buyer.key, proof: proof.v2 })).status).toBe(202);
    const hash = (await statusOf(proof))['tx_hash'];
    if (!isHex(hash, 32)) throw new Error('not seen');
    const bytes = await rawTransaction(world.chain, hash);
    const depth = Number((await latestNumber(world.chain)) - opened) + 1;
    await reorg(world.chain, depth, [[bytes, 0]]);
    await world.finalize();
    await world.finalize();
    await world.running.payments.reconcileOnce();
    expect(await paidUnits(world.chain, payer.address, terms.payTo)).toEqual([PRICE]);
    const fresh = await signProof(world.chain, payer, terms);
    const again = await world.buy(id, { key: buyer.key, proof: fresh.v2 });
    const { payment_status, outcome } = await statusOf(proof);
    expect({
      payment_status,
      outcome,
      again: again.status,
      paid: await paidUnits(world.chain, payer.address, terms.payTo),
    }).toEqual({ payment_status: 'completed', outcome: undefined, again: 200, paid: [PRICE] });
  });

  it('a provider that sends one call of a batch to a node that lags does not make a paid attempt unpaid', async () => {
    facilitator.script({ verify: 'garbage', settle: 'garbage' });
    const { id, terms } = await goods();
    const payer = await wallet();
    const proof = await signProof(world.chain, payer, { ...terms, secondsAhead: 60 });
    expect((await world.buy(id, { key: buyer.key, proof: proof.v2 })).status).toBe(503);
    const behind = await latestNumber(world.chain);
    // The facilitator that saw the proof in /verify submits it without telling the market.
    await usdcAdmin(world.chain).settleAuthorization(stranger, proof.authorization, proof.signature);
    await world.chain.rpc.call('evm_increaseTime', [120]);
    await world.chain.mine(1);
    offset += 120_000;
    // The lagging node answers calls as of its own head, refuses calls at a later block, and finds no logs.
    twist = (body) => {
      const late = (block: unknown): boolean =>
        typeof block === 'string' && block.startsWith('0x') && BigInt(block) > behind;
      if (body.method === 'eth_call') {
        if (late(body.params[1])) return { error: 'header not found' };
        return { ...body, params: [body.params[0], `0x${behind.toString(16)}`] };
      }
      if (body.method === 'eth_getLogs') return { result: [] };
      return body;
    };
    await world.running.payments.reconcileOnce();
    twist = (body) => body;
    const after = await statusOf(proof);
    expect(after).toMatchObject({ payment_status: 'payment_pending', do_not_pay_again: true });
  });

  it('a payer with an undecided attempt is not told that paying again is safe while the chain cannot be read', async () => {
    facilitator.script({ verify: 'valid', settle: 'garbage' });
    const { id, terms } = await goods();
    const payer = await wallet();
    const proof = await signProof(world.chain, payer, terms);
    expect((await world.buy(id, { proof: proof.v2 })).status).toBe(503);
    const fresh = await signProof(world.chain, payer, terms);
    twist = () => ({ error: 'away' });
    const answer = await world.buy(id, { proof: fresh.v2 });
    twist = (body) => body;
    expect([answer.status, answer.body['do_not_pay_again']]).toEqual([503, true]);
  });

  it('a fee that was seen on the chain is 202, also when only the chain says so', async () => {
    facilitator.script({ verify: 'garbage', settle: 'garbage' });
    const body = newGoods();
    const payer = await wallet();
    const proof = await signProof(world.chain, payer, { ...FEE_TERMS, now: clock.now() });
    expect((await listGoods(world, buyer, body, { proof: proof.v2 })).status).toBe(503);
    await usdcAdmin(world.chain).settleAuthorization(stranger, proof.authorization, proof.signature);
    const seen = await listGoods(world, buyer, body);
    expect([seen.status, seen.body['status']]).toEqual([202, 'payment_pending']);
  });
});
