/** Sales too small to pay for their own gas are not offered by x402 and block no other sales. */
import { afterEach, describe, expect, test } from 'vitest';
import { usdcOfUnits } from '../../src/contract/money.ts';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { createClient } from '../../src/sdk/client.ts';
import { buy } from '../../src/sdk/payments/buy.ts';
import { countRows } from '../support/database.ts';
import { minedBy, paymentBody, post, signPayment, startTestFacilitator } from '../support/facilitator.ts';
import { type Answer, BASE_URL, signProof } from '../support/market-world.ts';
import { type Goods, scriptedTrade, testTrade } from '../support/trade.ts';
import { cliRuns } from './run-cli.ts';

const { sellerTwo } = WORLD_ACCOUNTS;
/** USDC per ether. At this price a settlement costs a few cents of gas. */
const ETHER_USDC = 500;
/** Exceeds the time for which the market caches the facilitator's answers. */
const FORGOTTEN = { timeout: 20_000, interval: 500 };

const cli = cliRuns();
const trade = testTrade({ facilitator: { etherUsdc: ETHER_USDC } });
const { world, buyer, goods, wallet } = trade;

const told = ({ status, body }: Answer): unknown[] => [status, body['reason'] ?? body['status'] ?? 'goods'];

async function leastPrice(): Promise<bigint> {
  const state = (await (await fetch(`${world.facilitator.url}/state`)).json()) as { least_price_units: number };
  return BigInt(state.least_price_units);
}

/** Raises the base fee of the next block, and with it the gas price. */
async function raiseBaseFee(gwei: number): Promise<void> {
  await world.chain.rpc.call('anvil_setNextBlockBaseFeePerGas', [`0x${(gwei * 1e9).toString(16)}`]);
  await world.chain.mine();
}

async function automine(on: boolean): Promise<void> {
  await world.chain.rpc.call('evm_setAutomine', [on]);
}

afterEach(() => automine(true));

const proofFor = async (payer: TestAccount, offer: Goods) => (await signProof(world.chain, payer, offer.terms)).v2;

test('a sale below its gas is refused before a signature, and before a row, with the least price and the way out', async () => {
  const least = await leastPrice();
  expect(least).toBeGreaterThan(1_000n);
  const cheap = await goods({ units: least / 2n });
  const before = await countRows(world.db.database);
  const payer = await wallet();
  const asked = [
    await world.buy(cheap.id),
    await world.buy(cheap.id, { key: buyer.key }),
    await world.buy(cheap.id, { key: buyer.key, proof: await proofFor(payer, cheap) }),
    await world.buy(cheap.id, { proof: await proofFor(payer, cheap) }),
  ];
  for (const answer of asked) {
    expect(told(answer)).toEqual([409, 'x402_not_offered']);
    expect(answer.headers.get('payment-required')).toBeNull();
    expect(answer.body).not.toHaveProperty('accepts');
    expect(answer.body).toMatchObject({ do_not_pay_again: false, retry: 'never' });
    const named = Number(answer.body['least_price_usdc']);
    // Gas may have become cheaper in a block in between.
    expect(named).toBeGreaterThan(usdcOfUnits(cheap.terms.units));
    expect(named).toBeLessThanOrEqual(usdcOfUnits(least));
    expect(answer.body['detail']).toContain(`from ${named} USDC on`);
    expect(answer.body['next_step']).toContain('POST /api/purchase-intent/:id');
    expect(answer.body['next_step']).toContain(`at ${named} USDC or more`);
  }
  expect(await countRows(world.db.database)).toEqual(before);
  const intent = await world.ask('POST', `/api/purchase-intent/${cheap.id}`, { key: buyer.key, body: {} });
  expect(intent.status).toBe(201);
});

test('above the least price it is bought, and free goods are given out as ever', async () => {
  const offer = await goods({ units: 3n * (await leastPrice()) });
  expect((await world.buy(offer.id)).status).toBe(402);
  const payer = await wallet();
  const proof = await proofFor(payer, offer);
  expect(told(await world.buy(offer.id, { proof }))).toEqual([202, 'payment_pending']);
  expect((await world.buy((await goods({ units: 0n })).id)).status).toBe(200);
});

test('the page to buy on says so, and keeps its flow for what was paid before', async () => {
  const cheap = await goods({ units: (await leastPrice()) / 2n });
  const open = async (id: bigint): Promise<string> => (await fetch(`${world.url}/listing/${id}/buy`)).text();
  const page = await open(cheap.id);
  expect(page).toContain('Too small for a signature just now');
  expect(page).toContain(`/api/purchase-intent/${cheap.id}`);
  expect(page).toContain('id="flow"');
  expect(await open((await goods()).id)).not.toContain('Too small for a signature');
});

describe('clients sign no payment for such a sale, and say what to do', () => {
  test('the SDK', async () => {
    const cheap = await goods({ units: (await leastPrice()) / 2n });
    const { address, signer } = await wallet();
    const signed: bigint[] = [];
    const bought = buy({
      client: createClient({ baseUrl: world.url, callsItself: BASE_URL }),
      wallet: {
        address,
        signTypedData: (typed) => {
          signed.push(BigInt(typed.message.value));
          return signer.signTypedData(typed);
        },
      },
      ...{ listingId: Number(cheap.id), maxPriceUsdc: 1 },
    });
    const refused = await bought.catch((error: unknown) => error);
    expect(refused).toMatchObject({ reason: 'x402_not_offered', doNotPayAgain: false });
    expect(refused).toMatchObject({ problem: { least_price_usdc: expect.any(Number), retry: 'never' } });
    // The client may sign for 0 USDC, to collect an earlier purchase.
    expect(signed.filter((value) => value > 0n)).toEqual([]);
  });

  test('the command line', async () => {
    const cheap = await goods({ units: (await leastPrice()) / 2n });
    const { key } = await wallet();
    const env = { OPENAISLE_WALLET_KEY: key };
    const run = await cli.run(['buy', String(cheap.id), '--max', '1'], { market: world.url, env });
    expect(run.code).not.toBe(0);
    expect(run.stderr).toMatch(/x402 is offered from 0\.\d+ USDC on/);
    expect(run.stderr).toContain('pay by a transfer');
    expect(run.stderr).toMatch(/The seller can list it anew at 0\.\d+ USDC or more/);
  });
});

describe('a facilitator', () => {
  /** Sells to itself for a thousandth of a USDC, from a new wallet each time. Returns null if it was settled. */
  async function sellToOneself(url: string, n: number): Promise<unknown> {
    const payer = testAccount(`wallet ${n} that buys of itself`);
    await fund(world.chain, [{ address: payer.address, usdcUnits: 1_000n }]);
    const payment = await signPayment(world.chain, { payer, to: sellerTwo.address, value: 1_000n });
    const { body } = await post(`${url}/settle`, paymentBody(payment));
    return body['success'] === true ? null : body['errorReason'];
  }

  test('settles cheap sales up to its limit, asked directly as well, and pays for newcomers with good money as before', async () => {
    const account = testAccount('facilitator of cheap sales');
    await fund(world.chain, [{ address: account.address, wei: 10n ** 19n }]);
    const limits = { gas_loss_hour_units: 400_000 };
    const own = await startTestFacilitator(world.chain, { account: account.signer, etherUsdc: ETHER_USDC, limits });
    try {
      const newcomer = testAccount('an honest newcomer');
      const state = async (): Promise<Record<string, unknown>> => {
        const asked = await fetch(`${own.url}/state?payer=${newcomer.address}&payee=${newcomer.address}`);
        return (await asked.json()) as Record<string, unknown>;
      };
      const before = Number((await state())['least_price_units']);
      const outcomes: unknown[] = [];
      for (let n = 0; n < 11; n += 1) outcomes.push(await sellToOneself(own.url, n));
      const settled = outcomes.indexOf('gas_budget_spent');
      expect(settled).toBeGreaterThan(0);
      expect(outcomes.slice(settled)).toEqual(outcomes.slice(settled).map(() => 'gas_budget_spent'));
      expect(await minedBy(world.chain, own.address)).toBe(settled);
      const left = BigInt(String(await world.chain.rpc.call('eth_getBalance', [own.address, 'latest'])));
      const paidUnits = ((10n ** 19n - left) * BigInt(ETHER_USDC)) / 10n ** 12n;
      expect(paidUnits).toBeLessThan(BigInt(limits.gas_loss_hour_units));
      expect(await state()).toMatchObject({ may_settle: true, why: null });
      await expect.poll(async () => (await state())['least_price_units']).toBeGreaterThan(10 * before);
      await fund(world.chain, [{ address: newcomer.address, usdcUnits: 10_000_000n }]);
      const good = await signPayment(world.chain, { payer: newcomer, to: sellerTwo.address, value: 10_000_000n });
      expect((await post(`${own.url}/settle`, paymentBody(good))).body['success']).toBe(true);
    } finally {
      await own.close();
    }
  });
});

test('what was opened before gas rose is settled, and its buyer is not sent away', async () => {
  const offer = await goods({ units: 3n * (await leastPrice()) });
  const proof = await proofFor(await wallet(), offer);
  await automine(false);
  const first = await world.buy(offer.id, { key: buyer.key, proof });
  expect(first.body).toMatchObject({ reason: 'settlement_pending', do_not_pay_again: true });
  // The settlement is mined, but not final.
  await world.chain.mine();
  await raiseBaseFee(20);
  await expect.poll(leastPrice, FORGOTTEN).toBeGreaterThan(offer.terms.units);
  expect(told(await world.buy(offer.id, { key: buyer.key, proof }))[1]).not.toBe('x402_not_offered');
  await world.finalize();
  expect((await world.buy(offer.id, { key: buyer.key })).status).toBe(200);
  // Another buyer of the same goods is now refused.
  await raiseBaseFee(20);
  await expect.poll(async () => told(await world.buy(offer.id)), FORGOTTEN).toEqual([409, 'x402_not_offered']);
});

describe('a facilitator of another make', async () => {
  const other = await scriptedTrade();

  test('gives no price, so that nothing but the floor is asked for', async () => {
    const offer = await other.goods({ units: 1_000n });
    expect((await other.world.buy(offer.id)).status).toBe(402);
    const below = await other.world.buy((await other.goods({ units: 999n })).id);
    expect([below.status, below.body['reason'], below.body['least_price_usdc']]).toEqual([
      409,
      'x402_not_offered',
      0.001,
    ]);
  });
});
