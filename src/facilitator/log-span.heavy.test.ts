import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startTestChain, usdcAdmin } from '../../test/support/chain.ts';
import {
  paymentBody,
  post,
  type SignedPayment,
  signPayment,
  startTestFacilitator,
} from '../../test/support/facilitator.ts';
import { type RpcProxy, startRpcProxy } from '../../test/support/rpc-proxy.ts';
import { WORLD_ACCOUNTS } from '../local/chain/accounts.ts';
import type { LocalChain } from '../local/chain/start-chain.ts';
import { readBlock } from '../platform/chain/reads.ts';
import type { Hex } from '../platform/hex.ts';

const FINALITY_BLOCKS = 1_200;
const CAPS = [1, 5, 10, 100, 1_000];

let chain: LocalChain;
let proxy: RpcProxy;
beforeAll(async () => {
  chain = await startTestChain({ finalityBlocks: FINALITY_BLOCKS });
  proxy = await startRpcProxy();
});
afterEach(() => proxy.heal());
afterAll(async () => {
  await proxy?.close();
  await chain?.kill();
});

/** Mines in steps, because one call for many blocks takes long. Blocks are two seconds apart, as on Base. */
async function mine(blocks: number): Promise<void> {
  for (let left = blocks; left > 0; left -= 200)
    await chain.rpc.call('anvil_mine', [`0x${Math.min(left, 200).toString(16)}`, '0x2']);
}
const latestSecond = async (): Promise<bigint> => (await readBlock(chain.rpc, 'latest'))?.timestamp ?? 0n;

/** Starts a facilitator with an empty journal, as after losing its disk, and settles the payment there. */
async function settleAnew(payment: SignedPayment, most: number) {
  proxy.capLogs(most);
  const facilitator = await startTestFacilitator(chain, { rpcUrl: proxy.at(chain) });
  try {
    const before = proxy.calls('eth_getLogs');
    const answers = [];
    do answers.push(await post(`${facilitator.url}/settle`, paymentBody(payment)));
    while (answers.at(-1)?.status === 503 && answers.length < 20);
    return { answers, queries: proxy.calls('eth_getLogs') - before, lines: facilitator.lines };
  } finally {
    await facilitator.close();
  }
}

describe('a payment that another facilitator settled long ago', () => {
  const settled = new Map<number, { payment: SignedPayment; transaction: Hex }>();
  beforeAll(async () => {
    for (const most of CAPS) {
      const now = await latestSecond();
      // Signed as clients of the protocol do: valid from ten minutes ago until two minutes from now.
      const payment = await signPayment(chain, { validAfter: now - 600n, validBefore: now + 120n });
      const { stranger } = WORLD_ACCOUNTS;
      const receipt = await usdcAdmin(chain).settleAuthorization(stranger, payment.authorization, payment.signature);
      settled.set(most, { payment, transaction: receipt.transactionHash });
    }
    await mine(FINALITY_BLOCKS);
  });

  it.each(CAPS)('is shown by a node that takes %i blocks in one log query', async (most) => {
    const { payment, transaction } = settled.get(most) ?? { payment: await signPayment(chain), transaction: null };
    const { answers, queries, lines } = await settleAnew(payment, most);
    expect(answers.at(-1)).toMatchObject({ status: 200, body: { success: true, transaction } });
    console.error(`cap ${most}: ${answers.length} requests, ${queries} log queries`);
    // About 60 blocks lie between the use of the authorization and its expiry.
    expect(queries).toBeLessThanOrEqual(200 / most + 20);
    const warned = lines.filter(({ event }) => event === 'log_span_short');
    expect(warned).toMatchObject([{ fields: { endpoint: proxy.url, blocks_needed: FINALITY_BLOCKS + 1 } }]);
  });
});

it('an authorization that was cancelled is refused once its end was read, and not before', async () => {
  const payment = await signPayment(chain, { validAfter: 0n, validBefore: (await latestSecond()) + 120n });
  const { from, nonce } = payment.authorization;
  expect(from).toBe(WORLD_ACCOUNTS.buyerOne.address);
  await usdcAdmin(chain).cancelAuthorization(WORLD_ACCOUNTS.stranger, WORLD_ACCOUNTS.buyerOne, nonce);
  await mine(300);
  const { answers } = await settleAnew(payment, 1);
  expect(answers.slice(0, -1).every(({ status }) => status === 503)).toBe(true);
  expect(answers.at(-1)?.body).toMatchObject({
    success: false,
    errorReason: 'invalid_exact_evm_nonce_already_used',
  });
});
