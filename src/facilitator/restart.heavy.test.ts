import { chmod, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keccak256 } from 'viem';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { settleData, startTestChain } from '../../test/support/chain.ts';
import {
  facilitatorEnvironment,
  minedBy,
  paymentBody,
  post,
  runFacilitator,
  signPayment,
  startFacilitatorProcess,
  startTestFacilitator,
  temporaryFolder,
  usesOf,
} from '../../test/support/facilitator.ts';
import { freePort } from '../../test/support/free-port.ts';
import { recordingLog } from '../../test/support/recording-log.ts';
import { USDC_ADDRESS, WORLD_ACCOUNTS } from '../local/chain/accounts.ts';
import type { LocalChain } from '../local/chain/start-chain.ts';
import { systemClock } from '../platform/clock.ts';
import { openJournal } from './journal/open-journal.ts';

const { buyerOne, buyerTwo, facilitator: signer } = WORLD_ACCOUNTS;

let chain: LocalChain;
let dataDir: string;

beforeAll(async () => {
  chain = await startTestChain();
});

beforeEach(async () => {
  dataDir = await temporaryFolder();
});

afterEach(async () => {
  await automine(true);
  await rm(dataDir, { recursive: true, force: true });
});

afterAll(() => chain?.kill());

async function automine(on: boolean): Promise<void> {
  await chain.rpc.call('evm_setAutomine', [on]);
  if (on) await chain.mine();
}

test('killed between broadcast and answer, it knows its transaction again: the retry gets the same hash', async () => {
  const env = await facilitatorEnvironment(chain, dataDir);
  const minedBefore = await minedBy(chain, signer.address);
  await automine(false);
  const payment = await signPayment(chain);
  const first = await startFacilitatorProcess(env);
  const lost = post(`${first.url}/settle`, paymentBody(payment)).then(
    () => 'answered',
    () => 'cut',
  );
  const { transaction_hash: hash } = await first.logged('settlement_broadcast');
  expect(await first.end('SIGKILL')).toBeNull();
  expect(await lost).toBe('cut');
  const second = await startFacilitatorProcess(env);
  try {
    const retry = post(`${second.url}/settle`, paymentBody(payment));
    // A payment of another payer meanwhile gets a nonce of its own.
    const other = post(`${second.url}/settle`, paymentBody(await signPayment(chain, { payer: buyerTwo })));
    await second.logged('settlement_broadcast');
    await automine(true);
    expect((await retry).body).toMatchObject({ success: true, transaction: hash });
    expect((await other).body).toMatchObject({ success: true });
    expect(await usesOf(chain, buyerOne.address, payment.authorization.nonce)).toEqual([hash]);
    expect(await minedBy(chain, signer.address)).toBe(minedBefore + 2);
  } finally {
    expect(await second.end('SIGTERM')).toBe(0);
  }
});

test('what was signed and written, but not sent, before a crash is sent after it, unasked', async () => {
  const payment = await signPayment(chain);
  const accountNonce = await minedBy(chain, signer.address);
  const raw = await signer.signer.signTransaction({
    type: 'eip1559',
    chainId: chain.chainId,
    nonce: accountNonce,
    to: USDC_ADDRESS,
    data: settleData(payment.authorization, payment.signature),
    gas: 200_000n,
    maxFeePerGas: 10_000_000_000n,
    maxPriorityFeePerGas: 1n,
  });
  const hash = keccak256(raw);
  const folder = join(dataDir, 'facilitator');
  const journal = await openJournal({ folder, chainId: 8453n, clock: systemClock, log: recordingLog().log });
  const { authorization } = payment;
  const prices = { gas: 200_000n, maxFeePerGas: 10_000_000_000n, maxPriorityFeePerGas: 1n };
  await journal.add({
    authorization,
    sender: signer.address,
    accountNonce,
    hasCode: false,
    pool: 'plain',
    reservedUnits: 0n,
    estimatedGas: 90_000n,
    transactions: [{ hash, raw, accountNonce, signedAt: systemClock.now(), ...prices, fills: false }],
    ending: null,
    isFinal: false,
  });
  await journal.close();
  const facilitator = await startTestFacilitator(chain, { dataDir });
  try {
    await facilitator.logged('settlement_ended');
    expect(await usesOf(chain, buyerOne.address, authorization.nonce)).toEqual([hash]);
    const { body } = await post(`${facilitator.url}/settle`, paymentBody(payment));
    expect(body).toMatchObject({ success: true, transaction: hash });
  } finally {
    await facilitator.close();
  }
});

test('the folder holds one private journal, and only one process', async () => {
  const env = await facilitatorEnvironment(chain, dataDir);
  const running = await startFacilitatorProcess(env);
  try {
    const payment = await signPayment(chain);
    await post(`${running.url}/settle`, paymentBody(payment));
    expect((await readdir(join(dataDir, 'facilitator'))).sort()).toEqual(['.lock', 'journal.log']);
    expect((await stat(join(dataDir, 'facilitator', 'journal.log'))).mode & 0o777).toBe(0o600);
    const second = await runFacilitator(env);
    expect(second.code).toBe(1);
    expect(second.output).toMatch(/^FACILITATOR_DATA_DIR: .* is in use by process \d+/);
  } finally {
    await running.end('SIGTERM');
  }
});

test.each([
  [
    'with a key file that others can read',
    async (path: string) => chmod(path, 0o640),
    /^ {2}FACILITATOR_KEY_FILE must have mode 0600, it has 0640/m,
  ],
  [
    'with a symbolic link as key file',
    async (path: string) => {
      await rm(path);
      await symlink('/dev/null', path);
    },
    /^ {2}FACILITATOR_KEY_FILE must be a regular file/m,
  ],
  ['without a key file', async (path: string) => rm(path), /^ {2}FACILITATOR_KEY_FILE must be a regular file/m],
  [
    'with a key file that holds something else',
    async (path: string) => writeFile(path, 'correct horse battery staple'),
    /^ {2}FACILITATOR_KEY_FILE must hold a private key/m,
  ],
] as const)('it does not start %s, and does not show what is in it', async (_, spoil, message) => {
  const env = await facilitatorEnvironment(chain, dataDir);
  await spoil(env['FACILITATOR_KEY_FILE'] ?? '');
  const { code, output } = await runFacilitator(env);
  expect(code).toBe(1);
  expect(output).toMatch(message);
  expect(output).not.toContain('horse');
});

test('it does not start with bad variables, and names them without their values', async () => {
  const env = await facilitatorEnvironment(chain, dataDir, {
    FACILITATOR_PORT: '70000',
    FACILITATOR_NETWORK: 'mainnet',
    FACILITATOR_RPC_URL: 'ftp://secret@node',
    FACILITATOR_KEYFILE: '/secret',
  });
  const { code, output } = await runFacilitator(env);
  expect(code).toBe(1);
  for (const name of ['FACILITATOR_PORT', 'FACILITATOR_NETWORK', 'FACILITATOR_RPC_URL', 'FACILITATOR_KEYFILE']) {
    expect(output).toContain(name);
  }
  expect(output).not.toMatch(/70000|mainnet|secret|ftp/);
});

test('it does not start on another chain than the configured one', async () => {
  const env = await facilitatorEnvironment(chain, dataDir, { FACILITATOR_NETWORK: 'base-sepolia' });
  const { code, output } = await runFacilitator(env);
  expect(code).toBe(1);
  expect(output).toMatch(/^FACILITATOR_RPC_URL: .* is not on base-sepolia \(chain id 84532\)/);
});

test('its metrics have a port of their own: what was settled, what it cost, how the pools stand', async () => {
  const metricsPort = await freePort();
  const facilitator = await startTestFacilitator(chain, { dataDir, metricsPort });
  try {
    await post(`${facilitator.url}/settle`, paymentBody(await signPayment(chain)));
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    expect(text).toContain('openaisle_facilitator_settlements_total{state="succeeded"} 1');
    expect(text).toMatch(/^openaisle_facilitator_gas_used_total [1-9]\d{4,5}$/m);
    expect(text).toMatch(/^openaisle_facilitator_journal_fsyncs_total 2$/m);
    expect(text).toContain('openaisle_facilitator_gas_loss_limit_units{pool="contract",window="hour"} 500000');
    expect(text).toContain('openaisle_facilitator_in_flight 0');
    expect((await fetch(`${facilitator.url}/metrics`)).status).toBe(404);
  } finally {
    await facilitator.close();
  }
});

test('neither its log nor its files hold the key', async () => {
  const facilitator = await startTestFacilitator(chain, { dataDir });
  try {
    await post(`${facilitator.url}/settle`, paymentBody(await signPayment(chain)));
  } finally {
    await facilitator.close();
  }
  const folder = join(dataDir, 'facilitator');
  const files = await Promise.all((await readdir(folder)).map((file) => readFile(join(folder, file), 'utf8')));
  const seen = [...facilitator.lines.map((line) => JSON.stringify(line)), ...files].join('\n').toLowerCase();
  expect(files).toHaveLength(1);
  expect(seen).not.toContain(signer.key.slice(2));
});

test('without ether it starts, says that it is not ready, and refuses nothing', async () => {
  const poor = await startTestFacilitator(chain, {
    account: WORLD_ACCOUNTS.stranger.signer,
    balanceFloorWei: 10n ** 30n,
  });
  try {
    const ready = await fetch(`${poor.url}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ ready: false, chain: 'ok', signer_balance: 'low' });
    await chain.rpc.call('anvil_setBalance', [WORLD_ACCOUNTS.stranger.address, '0x0']);
    const { status, body } = await post(`${poor.url}/settle`, paymentBody(await signPayment(chain)));
    expect(status).toBe(503);
    expect(body).toMatchObject({ success: false, errorReason: 'unexpected_settle_error', transaction: '' });
  } finally {
    await poor.close();
  }
});
