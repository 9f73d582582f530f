import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { NETWORKS } from '../../src/contract/vocabulary.ts';
import {
  createFacilitator,
  type Facilitator,
  type FacilitatorOptions,
} from '../../src/facilitator/create-facilitator.ts';
import { type TestAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { readLogs } from '../../src/platform/chain/reads.ts';
import type { Authorization } from '../../src/platform/chain/shapes.ts';
import { AUTHORIZATION_USED_TOPIC, addressTopic } from '../../src/platform/chain/usdc.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { type Hex, isHex, toHex } from '../../src/platform/hex.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { signAuthorization } from './chain.ts';
import { compileCache } from './compile-cache.ts';
import { freePort } from './free-port.ts';
import { type LogLine, recordingLog } from './recording-log.ts';

export interface SignedPayment {
  authorization: Authorization;
  signature: Hex;
}

export interface Answer {
  status: number;
  body: Record<string, unknown>;
  ms: number;
}

export interface TestFacilitator extends Facilitator {
  dataDir: string;
  lines: LogLine[];
  logged(event: string): Promise<LogLine>;
}

export function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'openaisle-facilitator-'));
}

/** Starts a facilitator in this process. By default it gets a folder of its own, which is removed on close. */
export async function startTestFacilitator(
  chain: LocalChain,
  options: Partial<FacilitatorOptions> = {},
): Promise<TestFacilitator> {
  const dataDir = options.dataDir ?? (await temporaryFolder());
  const { log, lines, logged } = recordingLog();
  const facilitator = await createFacilitator({
    network: NETWORKS.base,
    rpcUrl: chain.url,
    account: WORLD_ACCOUNTS.facilitator.signer,
    log,
    // Gas on the local chain costs a hundred times more than on the real one, and a test pays for many settlements at once.
    etherUsdc: 1,
    ...options,
    dataDir,
    timing: { receiptPollMs: 20, tendMs: 100, quietMs: 100, ...options.timing },
  });
  const close = async (): Promise<void> => {
    await facilitator.close();
    if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
  };
  return { ...facilitator, dataDir, lines, logged, close };
}

/** Signs an authorization. Default: a valid payment of 1 USDC from buyer one to seller one. */
export async function signPayment(
  chain: LocalChain,
  terms: Partial<Authorization> & { payer?: TestAccount } = {},
): Promise<SignedPayment> {
  const { payer = WORLD_ACCOUNTS.buyerOne, ...rest } = terms;
  const authorization: Authorization = {
    from: payer.address,
    to: WORLD_ACCOUNTS.sellerOne.address,
    value: 1_000_000n,
    validAfter: 0n,
    validBefore: BigInt(Math.floor(systemClock.now() / 1000) + 120),
    nonce: toHex(systemRandom.bytes(32)),
    ...rest,
  };
  return { authorization, signature: await signAuthorization(chain, payer, authorization) };
}

/** Builds the body for /verify and /settle, in version 2 or 1, with requirements that match the payment. */
export function paymentBody(payment: SignedPayment, version: 1 | 2 = 2, changed: Record<string, unknown> = {}) {
  const { name, caip2, usdc, domainName, domainVersion } = NETWORKS.base;
  const { value, validAfter, validBefore, ...rest } = payment.authorization;
  const amount = value.toString();
  const numbers = { value: amount, validAfter: validAfter.toString(), validBefore: validBefore.toString() };
  const payload = { signature: payment.signature, authorization: { ...rest, ...numbers } };
  const common = {
    scheme: 'exact',
    network: version === 1 ? name : caip2,
    asset: usdc,
    payTo: rest.to,
    maxTimeoutSeconds: 120,
    extra: { name: domainName, version: domainVersion },
  };
  if (version === 2) {
    const requirements = { ...common, amount, ...changed };
    const paymentPayload = { x402Version: 2, accepted: structuredClone(requirements), payload };
    return { x402Version: 2, paymentPayload, paymentRequirements: requirements };
  }
  const { scheme, network } = { ...common, ...changed };
  const page = { resource: 'https://aisle.example/api/buy/1', description: '', mimeType: 'application/json' };
  return {
    x402Version: 1,
    paymentPayload: { x402Version: 1, scheme, network, payload },
    paymentRequirements: { ...common, ...page, maxAmountRequired: amount, ...changed },
  };
}

export async function post(url: string, body: unknown): Promise<Answer> {
  const startedAt = performance.now();
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const answer = (await response.json()) as Record<string, unknown>;
  return { status: response.status, body: answer, ms: performance.now() - startedAt };
}

/** Returns the hashes of all transactions that used this payer's authorization with that nonce, or with any nonce if it is null. */
export async function usesOf(chain: LocalChain, payer: Hex, nonce: Hex | null = null): Promise<Hex[]> {
  const logs = await readLogs(chain.rpc, {
    address: NETWORKS.base.usdc,
    topics: [AUTHORIZATION_USED_TOPIC, addressTopic(payer), nonce],
    fromBlock: 0n,
  });
  return logs.map(({ transactionHash }) => transactionHash);
}

export async function minedBy(chain: LocalChain, address: Hex): Promise<number> {
  return Number(await chain.rpc.call('eth_getTransactionCount', [address, 'latest']));
}

/** Far above a settlement's fee, so that the node replaces the settlement. */
const ELSEWHERE_FEE = 500_000_000_000n;
const ELSEWHERE_TIP = 50_000_000_000n;

/**
 * Sends one wei from the facilitator's account, with an account nonce that a settlement may use. `raise` raises the fee above that of an
 * earlier transaction with this account nonce. Resolves with hash and bytes once the node has the transaction.
 */
export async function takeEtherOut(
  chain: LocalChain,
  accountNonce: number,
  { raise = 1n, from = WORLD_ACCOUNTS.facilitator }: { raise?: bigint; from?: TestAccount } = {},
): Promise<{ hash: Hex; raw: Hex }> {
  const raw = await from.signer.signTransaction({
    type: 'eip1559',
    chainId: chain.chainId,
    nonce: accountNonce,
    gas: 21_000n,
    maxFeePerGas: ELSEWHERE_FEE * raise,
    maxPriorityFeePerGas: ELSEWHERE_TIP * raise,
    to: WORLD_ACCOUNTS.stranger.address,
    value: 1n,
  });
  const hash = await chain.rpc.call('eth_sendRawTransaction', [raw]);
  if (!isHex(hash, 32)) throw new Error('the node gave no transaction hash');
  return { hash, raw };
}

const MAIN = fileURLToPath(new URL('../../src/facilitator/main.ts', import.meta.url));

export interface FacilitatorProcess {
  url: string;
  /** Resolves with the first log line with that event, including past ones. */
  logged(event: string): Promise<Record<string, unknown>>;
  /** Resolves once there are that many lines with that event. */
  loggedTimes(event: string, times: number): Promise<void>;
  /** Resolves with the exit code; null after a kill. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

/** Returns the environment of a facilitator process. A null value removes the variable. */
export async function facilitatorEnvironment(
  chain: LocalChain,
  dataDir: string,
  changed: Record<string, string | null> = {},
): Promise<Record<string, string>> {
  const keyFile = join(dataDir, 'signer.key');
  await writeFile(keyFile, `${WORLD_ACCOUNTS.facilitator.key}\n`, { mode: 0o600 });
  const all: Record<string, string | null> = {
    PATH: process.env['PATH'] ?? null,
    ...compileCache(),
    FACILITATOR_PORT: String(await freePort()),
    FACILITATOR_RPC_URL: chain.url,
    FACILITATOR_KEY_FILE: keyFile,
    FACILITATOR_DATA_DIR: dataDir,
    // Gas on the local chain costs a hundred times more than on the real one.
    FACILITATOR_ETHER_USDC: '1',
    ...changed,
  };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null));
}

/** Runs the program of `npm run facilitator` to its end, for starts that must fail. */
export async function runFacilitator(env: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  await once(child, 'close');
  return { code: child.exitCode, output };
}

/** Time limit for reaching a crash point, far more than needed. */
const KILLED_MS = 60_000;

/**
 * Runs a facilitator until it kills itself at the crash point in its environment. `meanwhile` starts once the process listens, if it gets
 * that far.
 */
export async function runFacilitatorUntilKilled(
  env: Record<string, string>,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const late = new AbortController();
  const gone = once(child, 'exit');
  let doing = Promise.resolve();
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.includes('"facilitator_listening"')) doing = meanwhile();
  });
  void systemClock.sleep(KILLED_MS, late.signal).then(() => late.signal.aborted || child.kill('SIGTERM'));
  await gone;
  late.abort();
  await doing;
  if (child.signalCode !== 'SIGKILL') throw new Error(`it never came to ${env['OPENAISLE_TEST_CRASH_AT']}`);
}

/** Starts a facilitator process. Resolves once it listens. */
export async function startFacilitatorProcess(env: Record<string, string>): Promise<FacilitatorProcess> {
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: Record<string, unknown>[] = [];
  const waiting: { event: string; resolve(line: Record<string, unknown>): void }[] = [];
  const output = createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as Record<string, unknown>;
    lines.push(line);
    for (const { event, resolve } of waiting) if (event === line['event']) resolve(line);
  });
  const gone = once(child, 'exit');
  const logged = (event: string): Promise<Record<string, unknown>> => {
    const past = lines.find((line) => line['event'] === event);
    return past !== undefined ? Promise.resolve(past) : new Promise((resolve) => waiting.push({ event, resolve }));
  };
  const listening = await Promise.race([logged('facilitator_listening'), gone.then(() => null)]);
  if (listening === null) throw new Error('the facilitator did not start');
  return {
    url: String(listening['url']),
    logged,
    loggedTimes: async (event, times) => {
      while (lines.filter((line) => line['event'] === event).length < times) {
        await Promise.race([once(output, 'line'), gone.then(() => Promise.reject(new Error('it is gone')))]);
      }
    },
    end: async (signal) => {
      child.kill(signal);
      await gone;
      return child.exitCode;
    },
  };
}
