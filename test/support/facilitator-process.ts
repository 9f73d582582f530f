import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { freePort } from './free-port.ts';

const MAIN = fileURLToPath(new URL('../../src/facilitator/main.ts', import.meta.url));

export interface FacilitatorProcess {
  url: string;
  /** Resolves with the first line of that name, also a past one. */
  logged(event: string): Promise<Record<string, unknown>>;
  /** Resolves when there are so many lines of that name. */
  loggedTimes(event: string, times: number): Promise<void>;
  /** Resolves with the exit code, null after a kill. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

/** Null for a variable takes it away. */
export async function facilitatorEnvironment(
  chain: LocalChain,
  dataDir: string,
  changed: Record<string, string | null> = {},
): Promise<Record<string, string>> {
  const keyFile = join(dataDir, 'signer.key');
  await writeFile(keyFile, `${WORLD_ACCOUNTS.facilitator.key}\n`, { mode: 0o600 });
  const all: Record<string, string | null> = {
    PATH: process.env['PATH'] ?? null,
    FACILITATOR_PORT: String(await freePort()),
    FACILITATOR_RPC_URL: chain.url,
    FACILITATOR_KEY_FILE: keyFile,
    FACILITATOR_DATA_DIR: dataDir,
    // The local chain's gas costs a hundred times what the real one's does.
    FACILITATOR_ETHER_USDC: '1',
    ...changed,
  };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null));
}

/** Runs `npm run facilitator`'s program to its end, for starts that must fail. */
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

/** Far more than it needs to come to any point. */
const KILLED_MS = 60_000;

/** Runs it until it has killed itself, as it is told by its environment; `meanwhile` begins when it listens, if it comes to that. */
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

/** Resolves when it listens. */
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
