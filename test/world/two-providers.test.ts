import { describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { createMetrics } from '../../src/market/create-metrics.ts';
import { chainFacts } from '../../src/market/observe-chain.ts';
import { readBlock } from '../../src/platform/chain/reads.ts';
import { addressTopic } from '../../src/platform/chain/usdc.ts';
import { claim, payDirectly, transfer } from '../support/direct.ts';
import { signProof } from '../support/market-world.ts';
import { type PaidGoods, tradeOnPair } from '../support/rpc-pair.ts';
import type { Twist } from '../support/rpc-proxy.ts';
import { GAS_WEI, PRICE } from '../support/trade.ts';

const pair = await tradeOnPair();
const { world, buyer, primary, spare, pay, pass, readStatus, heal } = pair;
const payments = () => world.running.payments;
const ZERO_WORD = `0x${'0'.repeat(64)}`;
/** Selector of authorizationState. */
const NONCE_STATE = '0xe94a0102';

type RpcAnswer = Record<string, unknown>;
const hashLike = (hash: unknown): string => String(hash).replace(/^0x..../, '0xdead');
const logsOf = (result: unknown, change: (log: RpcAnswer) => RpcAnswer[]): unknown =>
  Array.isArray(result)
    ? result.flatMap(change)
    : { ...(result as RpcAnswer), logs: ((result as RpcAnswer)['logs'] as RpcAnswer[]).flatMap(change) };
const isReceipt = (method: string): boolean => method === 'eth_getTransactionReceipt';
const isLogs = (method: string): boolean => method === 'eth_getLogs';

async function deliveredTo(paid: PaidGoods): Promise<unknown[]> {
  const answer = await world.buy(paid.id, { key: buyer.key });
  return [answer.status, answer.body['artifact'] ?? answer.body['status']];
}

describe('two providers that say the same', () => {
  it('deliver, and the second one was asked', async () => {
    const paid = await pay();
    const before = spare.calls();
    await world.finalize();
    await payments().reconcileOnce();
    expect(await readStatus(paid)).toBe('completed');
    expect(spare.calls()).toBeGreaterThan(before);
    expect(await deliveredTo(paid)).toEqual([200, paid.artifact]);
  });

  it('nothing is asked of the second one while nothing could be decided', async () => {
    await pay();
    const before = spare.calls();
    for (let n = 0; n < 3; n += 1) await payments().reconcileOnce();
    expect(spare.calls()).toBe(before);
    await world.finalize();
  });
});

describe('a second provider that does not bear the payment out holds it up, and no longer than that', () => {
  const faults: [string, string, (paid: PaidGoods) => void][] = [
    ['lags behind the block', 'behind', () => spare.lag(8)],
    ['is silent', 'silent', () => spare.silence(true)],
    ['knows no receipt', 'disagrees', () => spare.twist((result, { method }) => (isReceipt(method) ? null : result))],
    ['knows no logs', 'disagrees', () => spare.twist((result, { method }) => (isLogs(method) ? [] : result))],
    [
      'is on another chain',
      'disagrees',
      () => spare.twist((result, { method }) => (method === 'eth_chainId' ? '0x1' : result)),
    ],
    [
      'has another block at that height',
      'disagrees',
      ({ block }) => spare.twist(forBlock(block, (result) => ({ ...result, hash: hashLike(result['hash']) }))),
    ],
    [
      'has a block without the transaction there',
      'disagrees',
      ({ block }) => spare.twist(forBlock(block, (result) => ({ ...result, transactions: [] }))),
    ],
    ['says that it failed', 'disagrees', () => spare.twist(inReceipt((receipt) => ({ ...receipt, status: '0x0' })))],
    [
      'lacks a log in the receipt',
      'disagrees',
      () =>
        spare.twist(inReceipt((receipt) => logsOf(receipt, (log) => (log['data'] === '0x' ? [log] : [])) as RpcAnswer)),
    ],
    [
      'has another amount in it',
      'disagrees',
      () =>
        spare.twist(
          inReceipt(
            (receipt) =>
              logsOf(receipt, (log) => [
                { ...log, data: log['data'] === '0x' ? '0x' : `0x${'1'.padStart(64, '0')}` },
              ]) as RpcAnswer,
          ),
        ),
    ],
    [
      'calls its logs removed',
      'disagrees',
      () => spare.twist(inReceipt((receipt) => logsOf(receipt, (log) => [{ ...log, removed: true }]) as RpcAnswer)),
    ],
    [
      'answers with errors about logs',
      'silent',
      () => spare.twist((result, { method }) => (isLogs(method) ? 'limit exceeded' : result)),
    ],
  ];

  // All these tests share one payment, which stays undecided until the last of them.
  let waiting: PaidGoods | null = null;
  it.each(faults)('%s', async (_, why, break_) => {
    const paid = waiting ?? (await pay());
    if (waiting === null) {
      spare.silence(true);
      await world.finalize();
      spare.silence(false);
    }
    waiting = paid;
    break_(paid);
    await payments().reconcileOnce();
    expect(await readStatus(paid)).toBe('payment_pending');
    expect(await deliveredTo(paid)).toEqual([202, 'payment_pending']);
    expect(payments().withheld.counts()).toEqual({
      silent: 0,
      behind: 0,
      disagrees: 0,
      use_without_transfer: 0,
      [why]: 1,
    });
  });

  it('and is delivered as soon as both say the same', async () => {
    if (waiting === null) throw new Error('nothing was paid');
    await payments().reconcileOnce();
    expect(await deliveredTo(waiting)).toEqual([200, waiting.artifact]);
    expect(payments().withheld.counts()).toEqual({ silent: 0, behind: 0, disagrees: 0, use_without_transfer: 0 });
    expect((await world.ask('GET', '/readyz')).body['payments']).toBe('open');
  });

  it('a disagreement is an alarm, once for a payment, however often it is looked at', async () => {
    const disagreements = () => payments().providerHealth.all[1]?.facts().disagreements ?? -1;
    const before = disagreements();
    const paid = await pay();
    await world.finalize();
    spare.twist((result, { method }) => (isReceipt(method) ? null : result));
    for (let n = 0; n < 3; n += 1) await payments().reconcileOnce();
    expect(disagreements()).toBe(before + 1);
    const { id } = await pair.statusOf(paid.proof);
    const told = world.logLines.filter(
      ({ event, fields }) => event === 'payment_blocked' && fields['payment_id'] === BigInt(Number(id)),
    );
    expect(told).toMatchObject([{ level: 'error', fields: { why: 'disagrees' } }]);
    await heal();
    await payments().reconcileOnce();
    expect(await readStatus(paid)).toBe('completed');
  });
});

function forBlock(block: bigint, change: (result: RpcAnswer) => RpcAnswer): Twist {
  const number = `0x${block.toString(16)}`;
  return (result, { method, params }) =>
    method === 'eth_getBlockByNumber' && params[0] === number ? change(result as RpcAnswer) : result;
}

function inReceipt(change: (receipt: RpcAnswer) => RpcAnswer): Twist {
  return (result, { method }) => (isReceipt(method) && result !== null ? change(result as RpcAnswer) : result);
}

describe('a primary that lies about money', () => {
  const asIfPaid =
    (units: bigint): Twist =>
    (result, { method }) => {
      if (!isLogs(method) && !isReceipt(method)) return result;
      if (result === null) return result;
      return logsOf(result, (log) => [
        log['data'] === '0x' ? log : { ...log, data: `0x${units.toString(16).padStart(64, '0')}` },
      ]);
    };

  it('makes no cheap transfer a dear one', async () => {
    const { id, artifact } = await pair.goods();
    const payer = await pair.wallet(PRICE, GAS_WEI);
    const paid = await payDirectly(world, { buyer, listingId: id, payer, units: 1n });
    await world.finalize();
    primary.twist(asIfPaid(PRICE));
    const answer = await claim(world, buyer, id, paid);
    expect([answer.status, answer.body['status']]).toEqual([202, 'payment_pending']);
    await pass();
    expect(JSON.stringify((await claim(world, buyer, id, paid)).body)).not.toContain(artifact);
    await heal();
    expect(await claim(world, buyer, id, paid)).toMatchObject({ status: 422, body: { reason: 'amount_too_little' } });
  });

  it('makes no good transfer one that never was', async () => {
    const { id, artifact } = await pair.goods();
    const payer = await pair.wallet(PRICE, GAS_WEI);
    const paid = await payDirectly(world, { buyer, listingId: id, payer, units: PRICE });
    await world.finalize();
    primary.twist((result, { method }) => {
      if (method === 'eth_getLogs') return [];
      return isReceipt(method) ? logsOf(result, () => []) : result;
    });
    expect(await claim(world, buyer, id, paid)).toMatchObject({ status: 202 });
    await heal();
    expect(await claim(world, buyer, id, paid)).toMatchObject({ status: 200, body: { artifact } });
  });
});

it('a refund is one only where both show it', async () => {
  const { id } = await pair.goods();
  const payer = await pair.wallet(PRICE, GAS_WEI);
  const paid = await payDirectly(world, { buyer, listingId: id, payer, units: PRICE - 1n });
  await world.finalize();
  const review = await claim(world, buyer, id, paid);
  const { id: paymentId } = review.body['payment'] as { id: number };
  const back = await transfer(world, WORLD_ACCOUNTS.sellerOne, payer.address, PRICE - 1n);
  await world.finalize();
  const refund = () =>
    world.ask('POST', `/api/review/${paymentId}`, {
      key: pair.seller.key,
      body: { outcome: 'refunded', tx_hash: back },
    });
  spare.twist((result, { method }) => (isReceipt(method) ? null : result));
  expect(await refund()).toMatchObject({ status: 409, body: { reason: 'refund_not_final' } });
  await heal();
  expect(await refund()).toMatchObject({ status: 200, body: { payment: { outcome: 'refunded' } } });
});

it('counts what is undecided, for who has the duty to tell', async () => {
  const paid = await pay();
  await payments().facts.count();
  const { open, reviews } = payments().facts.facts() ?? { open: [], reviews: -1 };
  expect(open).toEqual([{ path: 'x402', status: 'settling', count: 1, oldest: expect.any(Date) }]);
  expect(reviews).toBe(1);
  await world.finalize();
  await payments().reconcileOnce();
  await payments().facts.count();
  expect([await readStatus(paid), payments().facts.facts()?.open]).toEqual(['completed', []]);
});

it('says in metrics and in /readyz how each provider stands, without credentials or hosts in public', async () => {
  const metrics = createMetrics({ worker: '1', withProcess: false });
  metrics.observeChain(() => chainFacts(payments(), pair.clock));
  await pass();
  const { body } = await metrics.text();
  const endpoint = new URL(spare.url).origin;
  for (const line of [
    `openaisle_provider_head_number{provider="2",endpoint="${endpoint}",worker="1"} ${Number(await headNumber())}`,
    `openaisle_provider_excluded{provider="2",endpoint="${endpoint}",worker="1"} 0`,
    'openaisle_payments_halted{worker="1"} 0',
    'openaisle_payments_blocked{why="disagrees",worker="1"} 0',
  ]) {
    expect(body.split('\n')).toContain(line);
  }
  expect(body).toMatch(
    /openaisle_provider_errors_total\{provider="2",endpoint="[^"]+",kind="transport",worker="1"\} [1-9]/,
  );
  expect(body).toMatch(/openaisle_provider_disagreements_total\{provider="2",endpoint="[^"]+",worker="1"\} [1-9]/);
  expect(body).toMatch(/openaisle_chain_watermark_number\{worker="1"\} \d+/);
  const { body: ready } = await world.ask('GET', '/readyz');
  expect(ready).toMatchObject({
    payments: 'open',
    finality: { age_seconds: expect.any(Number) },
    providers: [
      { provider: 1, left_out: null },
      { provider: 2, left_out: null },
    ],
    contract_wallets: 'served',
    facilitator_signers: expect.any(String),
  });
  expect(JSON.stringify(ready)).not.toContain('127.0.0.1');
});

async function headNumber(): Promise<bigint> {
  return BigInt(String(await world.chain.rpc.call('eth_blockNumber', [])));
}

// From here on, the market's clock is ahead of the chain's.

describe('a provider that has not been of use for a minute is left out of the vote', () => {
  it('when it is silent: the payment waits that long, and no longer', async () => {
    const paid = await pay();
    await world.finalize();
    spare.silence(true);
    await pass();
    // Real time counts too, so half of the minute is slack for a slow machine.
    await pair.idle(30);
    expect(await readStatus(paid)).toBe('payment_pending');
    await pair.idle(31);
    expect(await readStatus(paid)).toBe('completed');
    expect((await world.ask('GET', '/readyz')).body['providers']).toMatchObject([{}, { left_out: 'silent' }]);
    expect(chainFacts(payments(), pair.clock).providers[1]?.excluded).toBe(true);
    await heal();
    expect((await world.ask('GET', '/readyz')).body['providers']).toMatchObject([{}, { left_out: null }]);
  });

  it('when its head stands still', async () => {
    spare.freezeAt(await headNumber());
    await pass();
    const paid = await pay();
    await world.finalize();
    await pass();
    await pair.idle(61);
    expect(await readStatus(paid)).toBe('completed');
    expect(payments().providerHealth.all[1]?.exclusionReason(payments().providerHealth.best())).toBe('stuck');
  });

  it('when it moves, but shows a chain of more than a minute ago, and the block is not in it', async () => {
    const paid = await pay();
    await world.finalize();
    pair.advance(61_000);
    spare.lag(8);
    await payments().reconcileOnce();
    expect([await readStatus(paid), chainFacts(payments(), pair.clock).providers[1]?.excluded]).toEqual([
      'completed',
      true,
    ]);
    pair.advance(60_000);
    expect(chainFacts(payments(), pair.clock).providers[1]?.excluded).toBe(false);
  });

  it('when it serves heads and nothing about payments', async () => {
    const paid = await pay();
    await world.finalize();
    spare.twist((result, { method }) => (isLogs(method) ? 'limit exceeded' : result));
    await pass();
    expect(await readStatus(paid)).toBe('payment_pending');
    await pair.idle(61);
    expect(await readStatus(paid)).toBe('completed');
    // The provider is still asked, and counts again as soon as it answers.
    await heal();
    const next = await pay();
    await world.finalize();
    // This call does nothing while the scheduled job is running, so repeat it.
    await expect
      .poll(async () => {
        await pass();
        return [await readStatus(next), chainFacts(payments(), pair.clock).providers[1]?.excluded];
      })
      .toEqual(['completed', false]);
  });

  it('also when it is the primary: the next one leads', async () => {
    const paid = await pay();
    await world.finalize();
    primary.silence(true);
    await pass();
    expect(await readStatus(paid)).toBe('payment_pending');
    await pair.idle(61);
    expect(await readStatus(paid)).toBe('completed');
  });
});

it('an authorization that only the primary calls unused is not called expired', async () => {
  const paid = await pay();
  await world.chain.rpc.call('evm_increaseTime', [900]);
  pair.advance(900_000);
  await world.finalize();
  primary.twist((result, { method, params }) => {
    if (isLogs(method)) return [];
    const asked = (params[0] as RpcAnswer | undefined)?.['data'];
    return method === 'eth_call' && String(asked).startsWith(NONCE_STATE) ? ZERO_WORD : result;
  });
  await pass();
  expect(await readStatus(paid)).toBe('payment_pending');
  await heal();
  // This call does nothing while the scheduled job is running, so repeat it.
  await expect
    .poll(async () => {
      await pass();
      return await readStatus(paid);
    })
    .toBe('completed');
});

it('an authorization that both call unused has expired', async () => {
  await pair.catchUp();
  const { id, terms } = await pair.goods();
  const payer = await pair.wallet();
  // Searches for the payer's logs find nothing and its authorization shows as unused, as if it had never been submitted.
  const hide: Twist = (result, { method, params }) => {
    const topics = JSON.stringify((params[0] as RpcAnswer | undefined)?.['topics'] ?? '');
    if (isLogs(method) && topics.includes(addressTopic(payer.address))) return [];
    const asked = (params[0] as RpcAnswer | undefined)?.['data'];
    return method === 'eth_call' && String(asked).startsWith(NONCE_STATE) ? ZERO_WORD : result;
  };
  primary.twist(hide);
  spare.twist(hide);
  const proof = await signProof(world.chain, payer, { ...terms, secondsAhead: 60 });
  expect((await world.buy(id, { key: buyer.key, proof: proof.v2 })).status).toBe(503);
  const { timestamp } = (await readBlock(world.chain.rpc, 'latest')) ?? { timestamp: 0n };
  const ahead = Number(proof.authorization.validBefore - timestamp) + 5;
  await world.chain.rpc.call('evm_increaseTime', [ahead]);
  pair.advance(120_000);
  await world.finalize();
  spare.silence(true);
  await pass();
  expect(await pair.statusOf(proof)).toMatchObject({ payment_status: 'payment_pending' });
  spare.silence(false);
  await pass();
  expect(await pair.statusOf(proof)).toMatchObject({ payment_status: 'unpaid', outcome: 'expired' });
});
