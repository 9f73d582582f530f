import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { type Receipt, readBlock, readChainId, readLogs, readReceipt } from '../../src/platform/chain/reads.ts';
import { createRpc, RpcFailure } from '../../src/platform/chain/rpc.ts';
import { decodeTransfer, TRANSFER_TOPIC } from '../../src/platform/chain/usdc.ts';
import { startTestChain, usdcAdmin } from './chain.ts';
import { playFault, RPC_FAULT_NAMES, RPC_FAULTS, type RpcFaultName } from './rpc-faults.ts';
import { type RpcProxy, startRpcProxy } from './rpc-proxy.ts';

const { buyerOne, sellerOne } = WORLD_ACCOUNTS;
const UNITS = 1_234_567n;
const SEED = 7;
const DEEP = 60;

let chain: LocalChain;
let proxy: RpcProxy;
let paid: Receipt;
beforeAll(async () => {
  chain = await startTestChain({ finalityBlocks: 4 });
  proxy = await startRpcProxy();
  proxy.leadTo(chain.url);
  await chain.mine(DEEP);
  paid = await usdcAdmin(chain).transfer(buyerOne, sellerOne.address, UNITS);
  await chain.mine(6);
});
afterAll(async () => {
  await proxy?.close();
  await chain?.stop();
});

/** Reads everything that decides a payment. */
async function readAll() {
  const rpc = createRpc({ url: proxy.url });
  const { blockNumber, blockHash, transactionHash } = paid;
  const at = { address: USDC_ADDRESS, topics: [TRANSFER_TOPIC], blockHash };
  const [chainId, latest, finalized, receipt, block, sameBlock, logs] = await Promise.all([
    readChainId(rpc),
    readBlock(rpc, 'latest'),
    readBlock(rpc, 'finalized'),
    readReceipt(rpc, transactionHash),
    readBlock(rpc, blockNumber),
    readBlock(rpc, blockNumber),
    readLogs(rpc, at),
  ]);
  return { chainId, latest, finalized, receipt, block, sameBlock, logs };
}
type Reading = Awaited<ReturnType<typeof readAll>>;

const moved = (logs: readonly { topics: `0x${string}`[]; data: `0x${string}` }[] | undefined) =>
  logs?.map((log) => decodeTransfer(log)).map((transfer) => transfer && [transfer.to, transfer.value]);
const honestMove = [[sellerOne.address, UNITS]];

/** Expected effect of each fault on a reading: a check of the result, or the kind of failure. */
const SIGHT: Record<RpcFaultName, ((seen: Reading, honest: Reading) => void) | RpcFailure['kind']> = {
  delay: (seen, honest) => expect(seen).toEqual(honest),
  cut: 'transport',
  null_result: 'malformed',
  stale_head: (seen, honest) => {
    expect(seen.latest?.number).toBe((honest.latest?.number ?? 0n) - 40n);
    expect([seen.receipt, seen.block, seen.logs]).toEqual([null, null, []]);
  },
  head_running_backwards: (seen, honest) => expect(seen.latest?.number).toBeLessThan(honest.latest?.number ?? 0n),
  forged_block_hash: (seen, honest) => {
    expect(seen.block?.hash).toMatch(/^0xdead/);
    expect(seen.sameBlock).toEqual(seen.block);
    expect(seen.finalized).toEqual(honest.finalized);
  },
  forged_chain: (seen) => {
    expect(seen.finalized?.hash).toMatch(/^0xdead/);
    expect(seen.latest?.hash).toMatch(/^0xdead/);
  },
  forged_amount: (seen) => {
    expect(moved(seen.receipt?.logs)).toEqual([[sellerOne.address, UNITS - 1n]]);
    expect(seen.logs).toEqual(seen.receipt?.logs);
  },
  forged_payee: (seen) => {
    expect(moved(seen.receipt?.logs)).toEqual([[`0x${'5'.repeat(40)}`, UNITS]]);
    expect(seen.logs).toEqual(seen.receipt?.logs);
  },
  forged_token: (seen) => {
    expect(seen.receipt?.logs.map(({ address }) => address)).toEqual([`0x${'5'.repeat(40)}`]);
    expect(seen.logs).toEqual([]);
  },
  missing_log: (seen) => expect([seen.receipt?.logs, seen.logs]).toEqual([[], []]),
  forged_amount_in_receipt: (seen) => {
    expect(moved(seen.receipt?.logs)).toEqual([[sellerOne.address, UNITS - 1n]]);
    expect(moved(seen.logs)).toEqual(honestMove);
  },
  forged_payee_in_receipt: (seen) => {
    expect(moved(seen.receipt?.logs)).toEqual([[`0x${'5'.repeat(40)}`, UNITS]]);
    expect(moved(seen.logs)).toEqual(honestMove);
  },
  forged_token_in_receipt: (seen) => {
    expect(seen.receipt?.logs.map(({ address }) => address)).toEqual([`0x${'5'.repeat(40)}`]);
    expect(moved(seen.logs)).toEqual(honestMove);
  },
  missing_log_in_receipt: (seen) => {
    expect(seen.receipt?.logs).toEqual([]);
    expect(moved(seen.logs)).toEqual(honestMove);
  },
  no_logs_found: (seen) => {
    expect(moved(seen.receipt?.logs)).toEqual(honestMove);
    expect(seen.logs).toEqual([]);
  },
  wrong_chain_id: (seen) => expect(seen.chainId).toBe(1n),
  removed: (seen) =>
    expect([...(seen.receipt?.logs ?? []), ...seen.logs].map(({ removed }) => removed)).toEqual([true, true]),
  receipt_before_block: (seen, honest) =>
    expect([seen.block, seen.receipt, seen.finalized]).toEqual([null, honest.receipt, honest.finalized]),
  http_429: 'http',
  json_rpc_error: 'error',
  html_body: 'malformed',
  truncated_json: 'malformed',
};

describe('a fault of a provider', () => {
  it.each(RPC_FAULT_NAMES)('%s is seen by who reads, and gone when it is healed', async (name) => {
    const honest = await readAll();
    expect(moved(honest.receipt?.logs)).toEqual(honestMove);
    proxy.play(name, { seed: SEED });
    const wanted = SIGHT[name];
    const seen = await readAll().catch((error: unknown) => error);
    proxy.heal();
    if (typeof wanted === 'string') {
      expect(seen).toBeInstanceOf(RpcFailure);
      expect(seen).toMatchObject({ kind: wanted });
    } else {
      if (seen instanceof Error) throw seen;
      wanted(seen as Reading, honest);
    }
    expect(await readAll()).toEqual(honest);
  });

  it('429 says when to come again', async () => {
    proxy.play('http_429', { seed: SEED });
    const answer = await fetch(proxy.url, { method: 'POST', body: '{"id":1,"method":"eth_chainId","params":[]}' });
    proxy.heal();
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '1']);
  });

  it('strikes as many calls as its chance says, and counts them', async () => {
    const before = proxy.struck();
    proxy.play('null_result', { seed: SEED, chance: 0.5 });
    // A new client each time, since one client sends identical concurrent requests only once.
    const ask = () => createRpc({ url: proxy.url }).call('eth_chainId', []);
    const answers = await Promise.all(Array.from({ length: 60 }, ask));
    proxy.heal();
    const struck = answers.filter((answer) => answer === null).length;
    expect(struck).toBe(proxy.struck() - before);
    expect(struck).toBeGreaterThan(15);
    expect(struck).toBeLessThan(45);
  });
});

describe('whether a call is struck', () => {
  const fates = (seed: number, methods: readonly string[]): Map<string, boolean[]> => {
    const next = playFault(RPC_FAULTS.cut, { seed, chance: 0.5 });
    const found = new Map<string, boolean[]>();
    for (const method of methods) found.set(method, [...(found.get(method) ?? []), next(method) !== null]);
    return found;
  };
  const each = (method: string): string[] => Array.from({ length: 40 }, () => method);

  it('goes by seed, method and place among the calls of that method, whatever comes in between', () => {
    const apart = fates(SEED, [...each('a'), ...each('b')]);
    const mixed = fates(
      SEED,
      each('b').flatMap((b) => ['a', 'c', b]),
    );
    expect(mixed.get('a')).toEqual(apart.get('a'));
    expect(mixed.get('b')).toEqual(apart.get('b'));
    expect(apart.get('a')).not.toEqual(apart.get('b'));
    expect(fates(SEED + 1, each('a')).get('a')).not.toEqual(apart.get('a'));
  });
});

it('one request is held where it is told to, and the next one goes through', async () => {
  const rpc = createRpc({ url: proxy.url });
  const { held, release } = proxy.holdNext('eth_chainId');
  const first = rpc.call('eth_chainId', []);
  await held;
  expect(await rpc.call('eth_chainId', [])).toBe('0x2105');
  release();
  expect(await first).toBe('0x2105');
});
