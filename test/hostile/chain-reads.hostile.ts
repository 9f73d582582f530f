import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testAccount } from '../../src/local/chain/accounts.ts';
import { openIntent } from '../support/direct.ts';
import { type Member, signProof } from '../support/market-world.ts';
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts';
import { type AnswerFrom, askFrom } from '../support/send.ts';
import { PRICE, testTrade } from '../support/trade.ts';

const PER_NETWORK = 60;
const FOR_ALL = 400;
const INTENTS = 20;
/** Number of a stranger's concurrent requests. */
const AT_ONCE = 8;

let proxy: RpcProxy;
beforeAll(async () => {
  proxy = await startRpcProxy();
});
afterAll(() => proxy.close());

const trade = testTrade({
  rpcUrl: (chain) => proxy.at(chain),
  limits: {
    chain_reads_per_ip_minute: PER_NETWORK,
    chain_reads_per_minute: FOR_ALL,
    chain_reads_per_merchant_minute: 1_000,
    intents_per_merchant_hour: INTENTS,
  },
});
const { world } = trade;

/** Returns a valid signature of a wallet that holds nothing. */
async function signedByRandomKey(goods: Awaited<ReturnType<typeof trade.goods>>, number: number): Promise<string> {
  return (await signProof(world.chain, testAccount(`a wallet without money ${number}`), goods.terms)).v1.value;
}

async function flood(networks: readonly string[], each: number): Promise<AnswerFrom[]> {
  const goods = await trade.goods();
  const asked = await Promise.all(
    networks.flatMap((network, at) =>
      Array.from({ length: each }, async (_, time) => ({
        network,
        proof: await signedByRandomKey(goods, at * each + time),
      })),
    ),
  );
  const answers: AnswerFrom[] = [];
  const one = async (): Promise<void> => {
    for (let next = asked.shift(); next !== undefined; next = asked.shift()) {
      const { network, proof } = next;
      answers.push(
        await askFrom(network, `${world.url}/api/buy/${goods.id}`, { method: 'POST', headers: { 'x-payment': proof } }),
      );
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return answers;
}

const count = (answers: readonly AnswerFrom[], status: number): number =>
  answers.filter((answer) => answer.status === status).length;

/** Buys from a funded wallet and a network that has sent no request yet. */
async function buysHonestly(network: string): Promise<number> {
  const goods = await trade.goods();
  const payer = await trade.wallet();
  const { v1 } = await signProof(world.chain, payer, goods.terms);
  const url = `${world.url}/api/buy/${goods.id}`;
  const answer = await askFrom(network, url, { method: 'POST', headers: { 'x-payment': v1.value } });
  return answer.status;
}

describe('signatures of wallets without money', () => {
  test('make the market ask the chain no more often than one network may, and others buy meanwhile', async () => {
    const before = proxy.calls();
    const answers = await flood(['127.0.9.1'], 120);
    // Allow two budgets, because the test may cross the end of a minute.
    expect(proxy.calls() - before).toBeLessThanOrEqual(2 * PER_NETWORK + 10);
    expect(count(answers, 429)).toBeGreaterThan(60);
    const refused = answers.find(({ status }) => status === 429);
    const problem = JSON.parse(refused?.text ?? '{}') as Record<string, unknown>;
    expect(problem).toMatchObject({ reason: 'rate_limited', do_not_pay_again: true });
    expect(problem['detail']).toContain(`chain_reads_per_ip_minute: the limit of ${PER_NETWORK} `);
    expect(refused?.headers['retry-after']).toBe(String(problem['retry_after_seconds']));
    expect([200, 202]).toContain(await buysHonestly('127.0.9.2'));
  });

  test('from many networks end at what all may, and one that has asked for nothing yet still buys', async () => {
    const networks = Array.from({ length: 60 }, (_, at) => `127.0.10.${at + 1}`);
    const before = proxy.calls();
    const answers = await flood(networks, 5);
    expect(proxy.calls() - before).toBeLessThanOrEqual(2 * FOR_ALL + 20);
    expect(count(answers, 429)).toBeGreaterThan(50);
    // Reserved slots become free every two seconds, and strangers compete for them.
    let honest = 429;
    const buy = async (): Promise<number> => {
      honest = await buysHonestly('127.0.11.1');
      return honest;
    };
    await expect.poll(buy, { timeout: 40_000, interval: 1_000 }).not.toBe(429);
    expect([200, 202]).toContain(honest);
  });
});

describe('intents', () => {
  const rows = async ({ id }: Member): Promise<bigint> =>
    (
      await world.db.database.one<{ n: bigint }>(
        sql`select count(*) as n from payment_intents where merchant_id = ${id}`,
      )
    ).n;

  test('of one key end at its quota of the hour, whatever they are for; another key opens its own', async () => {
    const [stranger, honest] = [await world.join('stranger'), await world.join('honest-buyer')];
    const goods = [];
    for (let made = 0; made < 2 * INTENTS; made += 1) goods.push(await trade.goods({ units: PRICE }));
    const statuses: number[] = [];
    await world.chain.mine();
    for (const { id } of goods) {
      const url = `${world.url}/api/purchase-intent/${id}`;
      const headers = { authorization: `Bearer ${stranger.key}` };
      statuses.push((await askFrom('127.0.12.1', url, { method: 'POST', body: {}, headers })).status);
    }
    expect(statuses.filter((status) => status === 201)).toHaveLength(INTENTS);
    expect(statuses.filter((status) => status === 429)).toHaveLength(INTENTS);
    expect(await rows(stranger)).toBe(BigInt(INTENTS));
    const [first] = goods;
    if (first === undefined) throw new Error('no goods');
    expect(await openIntent(world, honest, first.id)).toMatchObject({ listing_id: Number(first.id) });
  });
});
