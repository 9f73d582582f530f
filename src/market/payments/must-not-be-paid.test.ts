import sql from 'sql-template-tag';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { marketContext, type TestMarket } from '../../../test/support/market-context.ts';
import { eachCall, idOf, startRpcServer } from '../../../test/support/rpc-server.ts';
import { NETWORKS } from '../../contract/vocabulary.ts';
import { createRpc, type Rpc } from '../../platform/chain/rpc.ts';
import { addressTopic, TRANSFER_TOPIC } from '../../platform/chain/usdc.ts';
import type { Database } from '../../platform/database/database.ts';
import { openDatabase } from '../../platform/database/open-database.ts';
import type { Hex } from '../../platform/hex.ts';
import type { Refusal } from '../../platform/refusal.ts';
import type { ChainHead } from './chain/read-head.ts';
import { mustNotBePaid } from './payment-guards.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 6, 1);
const PAYER: Hex = `0x${'a1'.repeat(20)}`;
const PAYEE: Hex = `0x${'b2'.repeat(20)}`;
const HASH: Hex = `0x${'c3'.repeat(32)}`;
const FOUND = { reason: 'payment_may_be_lost', fields: { tx_hash: HASH } };
const UNREADABLE = { reason: 'payment_check_unavailable', doNotPayAgain: true };
const db = testDatabase();
const node = await startRpcServer();
afterAll(() => node.close());

interface Call {
  method: string;
  params: [{ fromBlock: string; toBlock: string; topics: string[] }];
}
/** Recoveries cannot be deleted, so each test uses its own chain. */
let chainId = 0n;
/** Block ranges that were queried, and the number of refused queries. */
let asked: string[];
let refused: number;
/** Longest block range that the provider accepts. It refuses longer ones by an error or an HTTP status. */
let most: bigint;
let refuseBy: 'error' | number;
let transfers: { block: bigint; units: bigint }[];
const { usdc } = NETWORKS.base;

beforeEach(() => {
  chainId += 1n;
  [asked, refused, most, refuseBy, transfers] = [[], 0, 10n ** 9n, 'error', []];
});

node.answer((response, body) => {
  const { method, params } = (Array.isArray(body) ? body[0] : body) as Call;
  if (method === 'eth_getLogs' && refuseBy !== 'error' && isTooLarge(params[0])) {
    asked.push(nameOf(params[0]));
    refused += 1;
    response.statusCode = refuseBy;
    response.end();
    return;
  }
  eachCall((answer, call) => answer.end(JSON.stringify({ jsonrpc: '2.0', id: idOf(call), ...say(call as Call) })))(
    response,
    body,
  );
});

const nameOf = ({ fromBlock, toBlock }: Call['params'][0]): string => `${BigInt(fromBlock)}-${BigInt(toBlock)}`;
const isTooLarge = ({ fromBlock, toBlock }: Call['params'][0]): boolean =>
  BigInt(toBlock) - BigInt(fromBlock) + 1n > most;

function say({ method, params }: Call): object {
  if (method === 'eth_getBlockByNumber') {
    const block = { hash: HASH, parentHash: HASH, timestamp: '0x1', transactions: [] };
    return { result: { number: params[0], ...block } };
  }
  const [{ fromBlock, toBlock, topics }] = params;
  asked.push(nameOf(params[0]));
  if (isTooLarge(params[0])) {
    refused += 1;
    return { error: { code: -32_005, message: 'block range is too large' } };
  }
  const isAsked = topics.join() === [TRANSFER_TOPIC, addressTopic(PAYER), addressTopic(PAYEE)].join();
  const logs = transfers
    .filter(({ block }) => isAsked && block >= BigInt(fromBlock) && block <= BigInt(toBlock))
    .map(({ block, units }, at) => ({
      ...{ address: usdc, topics, data: `0x${units.toString(16).padStart(64, '0')}`, logIndex: `0x${at}` },
      ...{ blockNumber: `0x${block.toString(16)}`, blockHash: HASH, transactionHash: HASH },
    }));
  return { result: logs };
}

function market({ database = db.database, isRecent = true }: { database?: Database; isRecent?: boolean } = {}) {
  const clock = { now: () => NOW, sleep: async () => {} };
  const plain = marketContext({ database, clock, changes: { hasRecentRecovery: () => isRecent } });
  return { ...plain, config: { ...plain.config, network: { ...plain.config.network, chainId } } };
}

async function recovered({ from, to, daysAgo = 1 }: { from: bigint; to: bigint; daysAgo?: number }): Promise<void> {
  const at = new Date(NOW - daysAgo * DAY_MS);
  await db.database.run(sql`
    insert into recoveries (chain_id, from_block, to_block, reason, kept_event_id, event_id, found, at)
    values (${chainId}, ${from}, ${to}, 'a test', 0, 1, '{}', ${at})`);
}

async function look(asking: { latest?: bigint; payAnew?: boolean; on?: TestMarket; rpc?: Rpc } = {}): Promise<unknown> {
  const { latest = 10n ** 6n, payAnew = false, on = market(), rpc = createRpc({ url: node.url }) } = asking;
  const head = { rpc, chainId, latest: { number: latest } } as ChainHead;
  try {
    const opening = { payer: PAYER, payee: PAYEE, valueUnits: 5n, payAnew };
    await mustNotBePaid(on, async () => head, opening);
    return 'nothing found';
  } catch (error) {
    const { reason, options } = error as Refusal;
    return { reason, ...options };
  }
}

test('without a recent recovery, and where the payer means it, neither database nor chain is asked', async () => {
  const gone = await openDatabase({ url: db.url, poolSize: 1, allowUnsafe: true });
  await gone.close();
  await recovered({ from: 0n, to: 9n });
  await expect(look({ on: market({ database: gone }) })).resolves.not.toBe('nothing found');
  expect(await look({ on: market({ database: gone, isRecent: false }) })).toBe('nothing found');
  expect(await look({ on: market({ database: gone }), payAnew: true })).toBe('nothing found');
  expect(asked).toEqual([]);
});

test('the chain is asked for a recovery of the last 30 days, and of this chain', async () => {
  await recovered({ from: 0n, to: 9n, daysAgo: 30 });
  chainId += 1n;
  expect(await look()).toBe('nothing found');
  chainId -= 1n;
  expect(await look()).toBe('nothing found');
  expect(asked).toEqual([]);
  await recovered({ from: 0n, to: 9n, daysAgo: 29.9 });
  await recovered({ from: 5n, to: 20n, daysAgo: 3 });
  expect(await look()).toBe('nothing found');
  expect(asked).toEqual(['5-20', '0-9']);
});

test('the window is read at once, and only the exact value is found in it', async () => {
  await recovered({ from: 1_000n, to: 900_000n });
  transfers = [
    { block: 999n, units: 5n },
    { block: 1_000n, units: 4n },
    { block: 1_001n, units: 6n },
    { block: 900_001n, units: 5n },
  ];
  expect(await look()).toBe('nothing found');
  transfers.push({ block: 900_000n, units: 5n });
  expect(await look()).toMatchObject({ ...FOUND, fields: { tx_hash: HASH, block: 900_000 } });
  expect(asked).toEqual(['1000-900000', '1000-900000']);
});

test.each(['error', 413] as const)(
  'a provider that refuses the range by %s is asked for what it takes, down to one block',
  async (by) => {
    await recovered({ from: 1n, to: 20_000n });
    [most, refuseBy] = [6_000n, by];
    expect(await look()).toBe('nothing found');
    // The newest 32 blocks are read separately.
    expect(asked.slice(-5)).toEqual(['19969-20000', '14969-19968', '9969-14968', '4969-9968', '1-4968']);
    transfers = [{ block: 1n, units: 5n }];
    expect(await look()).toMatchObject(FOUND);
    await recovered({ from: 30_000n, to: 30_050n });
    most = 1n;
    transfers = [{ block: 30_001n, units: 5n }];
    expect(await look()).toMatchObject(FOUND);
  },
);

test('what one reading cannot cover is never called empty: the next one goes on', async () => {
  await recovered({ from: 1n, to: 300n });
  [most, transfers] = [1n, [{ block: 1n, units: 5n }]];
  const rpc = createRpc({ url: node.url });
  const said: unknown[] = [];
  for (let n = 0; n < 4; n += 1) said.push(await look({ rpc }));
  expect(said).toMatchObject([UNREADABLE, UNREADABLE, UNREADABLE, FOUND]);
  expect(asked.filter((part) => part === '150-150')).toHaveLength(1);
});

test('who refuses single blocks, is silent, or lags behind says nothing about the payment', async () => {
  await recovered({ from: 1n, to: 5_000n });
  most = 0n;
  expect(await look()).toMatchObject(UNREADABLE);
  expect(asked).toEqual(['1-5000', '1-1', '5000-5000']);
  // After a status that does not mean "too large", no shorter range is queried.
  [refuseBy, refused] = [503, 0];
  expect(await look()).toMatchObject(UNREADABLE);
  expect(refused).toBe(1);
  [most, refused] = [10n ** 9n, 0];
  expect(await look({ latest: 4_999n })).toMatchObject(UNREADABLE);
  expect(await look({ latest: 5_000n })).toBe('nothing found');
});
