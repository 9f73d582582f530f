import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { systemClock } from '../../platform/clock.ts';

export interface AnvilProcess {
  pid: number;
  port: number;
  /** Resolves when the process is gone. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

const READY_WITHIN_MS = 30_000;
const STOP_WITHIN_MS = 15_000;
const LISTENING = /Listening on \S*:(\d+)\s*$/;
const SETPRIV = '/usr/bin/setpriv';

const running = new Set<ChildProcess>();
process.on('exit', () => {
  // SIGTERM, so that a chain with a state file still writes it.
  for (const child of running) child.kill('SIGTERM');
});

/** Starts anvil and waits until it listens. */
export async function startAnvil(
  anvil: string,
  options: readonly string[],
  log?: (line: string) => void,
): Promise<AnvilProcess> {
  // The exit hook does not run in a parent that is killed; where the system has this tool, the kernel then ends the child. Only so is it
  // safe to keep Ctrl-C from it, which its parent answers by stopping the servers first and the chain last.
  const leashed = existsSync(SETPRIV);
  const [program, before] = leashed ? [SETPRIV, ['--pdeathsig', 'TERM', '--', anvil]] : [anvil, []];
  const child = spawn(program, [...before, ...options], { stdio: ['ignore', 'pipe', 'pipe'], detached: leashed });
  running.add(child);
  const gone = new Promise<void>((resolve) => {
    const left = (): void => {
      running.delete(child);
      resolve();
    };
    child.once('exit', left);
    child.once('error', left);
  });
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    if (!running.has(child)) return;
    child.kill(signal);
    const waiting = new AbortController();
    const late = systemClock.sleep(STOP_WITHIN_MS, waiting.signal).then(() => !waiting.signal.aborted);
    const stuck = await Promise.race([gone.then(() => false), late]);
    waiting.abort();
    if (stuck) {
      child.kill('SIGKILL');
      await gone;
      throw new Error(`anvil (process ${child.pid}) did not stop within ${STOP_WITHIN_MS} ms and was killed`);
    }
  };
  try {
    const port = await listeningPort(child, log);
    return { pid: child.pid ?? 0, port, stop: () => end('SIGTERM'), kill: () => end('SIGKILL') };
  } catch (error) {
    await end('SIGKILL');
    throw error;
  }
}

/** anvil says itself where it listens, so port 0 needs no search for a free port that another process could take meanwhile. */
function listeningPort(child: ChildProcess, log?: (line: string) => void): Promise<number> {
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error('anvil was started without its output');
  const errors: string[] = [];
  return new Promise((resolve, reject) => {
    const waiting = new AbortController();
    const fail = (why: string): void => {
      waiting.abort();
      reject(new Error(`anvil did not start: ${[why, ...errors].join('\n')}`));
    };
    createInterface({ input: stderr }).on('line', (line) => {
      if (errors.length < 20) errors.push(line);
      log?.(line);
    });
    // Read on for ever: a full pipe would stop the chain.
    createInterface({ input: stdout }).on('line', (line) => {
      const port = LISTENING.exec(line)?.[1];
      if (port !== undefined) {
        waiting.abort();
        resolve(Number(port));
      }
      log?.(line);
    });
    child.once('error', (error) => fail(error.message));
    child.once('close', (code, signal) => fail(`ended with ${signal ?? code}`));
    void systemClock.sleep(READY_WITHIN_MS, waiting.signal).then(() => {
      if (!waiting.signal.aborted) fail(`not listening after ${READY_WITHIN_MS} ms`);
    });
  });
}
