import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FUNDED_UNITS, reorg, startTestChain, usdcAdmin } from '../../../test/support/chain.ts';
import { readBlock, readCode, readReceipt } from '../../platform/chain/reads.ts';
import { readBalance } from '../../platform/chain/usdc.ts';
import { systemClock } from '../../platform/clock.ts';
import { USDC_ADDRESS, USDC_ROLES, WORLD_ACCOUNTS } from './accounts.ts';
import { type ChainOptions, type LocalChain, startChain } from './start-chain.ts';
import { send } from './transactions.ts';

const { buyerOne, sellerOne } = WORLD_ACCOUNTS;
const started: LocalChain[] = [];
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'openaisle-chain-'));
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((chain) => chain.kill()));
  rmSync(folder, { recursive: true });
});

async function start(options: ChainOptions = {}): Promise<LocalChain> {
  const chain = await startChain(options);
  started.push(chain);
  return chain;
}

async function startWithUsdc(options: ChainOptions = {}): Promise<LocalChain> {
  const chain = await startTestChain(options);
  started.push(chain);
  return chain;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A dead process keeps its id until its parent has reaped it.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let waited = 0; waited < 10_000; waited += 10) {
    if (await holds()) return;
    await systemClock.sleep(10);
  }
  throw new Error('it did not come true within ten seconds');
}

const headOf = async (chain: LocalChain, tag: 'latest' | 'finalized'): Promise<bigint> =>
  (await readBlock(chain.rpc, tag))?.number ?? -1n;

test.each([0, 2, 8])('the finalized head is %i blocks behind the latest', async (finalityBlocks) => {
  const chain = await start({ finalityBlocks });
  await chain.mine(20);
  expect(await headOf(chain, 'latest')).toBe(20n);
  expect(await headOf(chain, 'finalized')).toBe(20n - BigInt(finalityBlocks));
  await chain.mine();
  expect(await headOf(chain, 'finalized')).toBe(21n - BigInt(finalityBlocks));
});

test.each([1, -2, 2.5])('a lag of %d blocks is refused', async (finalityBlocks) => {
  await expect(startChain({ finalityBlocks })).rejects.toThrow('even');
});

test('without interval mining no block comes by itself', async () => {
  const chain = await start();
  expect(chain.automine).toBe(true);
  await systemClock.sleep(50);
  expect(await headOf(chain, 'latest')).toBe(0n);
});

test('with a block time blocks come by themselves', async () => {
  const chain = await start({ blockTimeSeconds: 1 });
  expect(chain.automine).toBe(false);
  await until(async () => (await headOf(chain, 'latest')) >= 1n);
});

test('it listens on this machine only and has no accounts of its own', async () => {
  const chain = await start();
  expect(new URL(chain.url).hostname).toBe('127.0.0.1');
  expect(await chain.rpc.call('eth_accounts', [])).toEqual([]);
});

test('a reorg crosses the finalized head', async () => {
  const chain = await start({ finalityBlocks: 2 });
  await chain.mine(10);
  const before = await readBlock(chain.rpc, 6n);
  await reorg(chain, 6);
  expect((await readBlock(chain.rpc, 6n))?.hash).not.toBe(before?.hash);
});

test('state is kept over a restart: blocks, receipts, balances, and reads at the finalized head', async () => {
  const stateFile = join(folder, 'deep', 'chain.json');
  const options = { stateFile, finalityBlocks: 4 };
  const first = await startWithUsdc(options);
  const receipt = await usdcAdmin(first).transfer(buyerOne, sellerOne.address, 42n);
  const block = await readBlock(first.rpc, receipt.blockNumber);
  await first.stop();
  expect(isAlive(first.pid)).toBe(false);

  const second = await start(options);
  expect(await readReceipt(second.rpc, receipt.transactionHash)).toEqual(receipt);
  expect(await readBlock(second.rpc, receipt.blockNumber)).toEqual(block);
  expect(await readBalance(second.rpc, USDC_ADDRESS, sellerOne.address)).toBe(FUNDED_UNITS + 42n);
  expect(await readCode(second.rpc, USDC_ADDRESS, 'finalized')).not.toBe('0x');
  expect(await readBalance(second.rpc, USDC_ADDRESS, sellerOne.address, 'finalized')).toBe(FUNDED_UNITS + 42n);
  const again = await send(second, buyerOne, { to: sellerOne.address, value: 1n });
  expect(again.blockNumber).toBeGreaterThan(receipt.blockNumber);
});

test('block time follows the clock after a restart', async () => {
  const stateFile = join(folder, 'chain.json');
  const first = await start({ stateFile });
  await first.mine(3);
  await first.stop();
  // Pretend that the chain did not run for a night.
  const aged = JSON.parse(readFileSync(stateFile, 'utf8'), (key, value: unknown) =>
    key === 'timestamp' && typeof value === 'string' ? `0x${(BigInt(value) - 36_000n).toString(16)}` : value,
  );
  writeFileSync(stateFile, JSON.stringify(aged));
  const second = await start({ stateFile });
  const secondsAgo = async (which: bigint | 'latest'): Promise<number> =>
    systemClock.now() / 1_000 - Number((await readBlock(second.rpc, which))?.timestamp ?? 0n);
  expect(await secondsAgo(3n)).toBeGreaterThan(35_000);
  expect(await secondsAgo('latest')).toBeLessThan(30);
});

test('a state broken off in the middle of writing does not hurt the one before', async () => {
  const stateFile = join(folder, 'chain.json');
  const first = await start({ stateFile });
  await first.mine(7);
  await first.stop();
  writeFileSync(`${stateFile}.next`, readFileSync(stateFile, 'utf8').slice(0, -10));
  const second = await start({ stateFile });
  expect(await headOf(second, 'latest')).toBeGreaterThanOrEqual(7n);
});

test('a killed chain has lost no more than the time since its last writing', async () => {
  const stateFile = join(folder, 'chain.json');
  const first = await start({ stateFile, stateIntervalSeconds: 1 });
  await first.mine(5);
  const has = (): boolean => existsSync(`${stateFile}.next`) && readFileSync(`${stateFile}.next`, 'utf8').endsWith('}');
  await until(has);
  await first.mine(5);
  rmSync(`${stateFile}.next`);
  await until(has);
  await first.kill();
  const second = await start({ stateFile });
  expect(await headOf(second, 'latest')).toBe(11n);
});

test('a port that is taken is told as such', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await expect(startChain({ port })).rejects.toThrow(/in use/i);
  await new Promise((resolve) => server.close(resolve));
});

const CHAIN_MODULE = JSON.stringify(new URL('./start-chain.ts', import.meta.url).href);

/** Starts a chain in another process and returns the chain's process id once it runs. */
async function startInChild(options: ChainOptions, andThen = ''): Promise<{ parent: ChildProcess; pid: number }> {
  const program = `
    import { startChain } from ${CHAIN_MODULE};
    const chain = await startChain(${JSON.stringify(options)});
    await chain.mine(9);
    process.stdout.write(String(chain.pid), () => { ${andThen} });
  `;
  const parent = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pid = await new Promise<number>((resolve) => parent.stdout.once('data', (text) => resolve(Number(text))));
  return { parent, pid };
}

test.runIf(existsSync('/usr/bin/setpriv'))('when its parent is killed the chain goes too', async () => {
  const { parent, pid } = await startInChild({});
  expect(isAlive(pid)).toBe(true);
  parent.kill('SIGKILL');
  await until(() => !isAlive(pid));
});

test('when its parent ends without stopping it the chain goes too', async () => {
  const { pid } = await startInChild({}, 'process.exit(0)');
  await until(() => !isAlive(pid));
});

test('what a chain with a killed parent had is found by the next, started at once', async () => {
  const stateFile = join(folder, 'chain.json');
  const { parent, pid } = await startInChild({ stateFile });
  const gone = new Promise((resolve) => parent.once('exit', resolve));
  parent.kill('SIGKILL');
  await gone;
  const next = await start({ stateFile });
  expect(isAlive(pid)).toBe(false);
  expect(await headOf(next, 'latest')).toBeGreaterThanOrEqual(9n);
});

test('a state that a living process uses is refused to a second', async () => {
  const stateFile = join(folder, 'chain.json');
  const first = await start({ stateFile });
  await expect(startChain({ stateFile })).rejects.toThrow('in use');
  await first.mine();
  expect(await headOf(first, 'latest')).toBe(1n);
});

test('sends of one sender at once each get their own nonce', async () => {
  const chain = await startWithUsdc();
  const sends = Array.from({ length: 20 }, () => send(chain, buyerOne, { to: sellerOne.address, value: 1n }));
  const receipts = await Promise.all(sends);
  expect(new Set(receipts.map((receipt) => receipt.transactionHash)).size).toBe(20);
  expect(receipts.every((receipt) => receipt.status === 'success')).toBe(true);
});

test('a refused send does not hold up the next of that sender', async () => {
  const chain = await startWithUsdc();
  await expect(send(chain, USDC_ROLES.minter, { value: 10n ** 30n, to: sellerOne.address })).rejects.toThrow();
  expect(await usdcAdmin(chain).mint(sellerOne.address, 1n)).toMatchObject({ status: 'success' });
});
