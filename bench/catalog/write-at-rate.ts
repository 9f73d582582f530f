import { Agent, request as open } from 'node:http';
import { systemClock } from '../../src/platform/clock.ts';
import { createHistogram, type Histogram, record } from './histogram.ts';
import { WRITE_CONNECTIONS } from './settings.ts';
import type { Write } from './writers.ts';

export interface WriteLoad {
  answers: Record<string, number>;
  latencies: Map<string, Histogram>;
  written: number;
  faults: string[];
}

export interface RunningWrites {
  /** Stops sending. Resolves when every sent write is answered. */
  stop(): Promise<void>;
}

/** Expected refusals of random writes: withdrawn, already bought, or the writer's own. */
const REFUSALS: readonly number[] = [403, 409];

export function createWriteLoad(): WriteLoad {
  return { answers: {}, latencies: new Map(), written: 0, faults: [] };
}

/** Starts writes at fixed times without waiting for earlier answers. If too many are open, it waits and falls behind. */
export function writeAtRate(url: string, rate: number, next: () => Write, load: WriteLoad): RunningWrites {
  const agent = new Agent({ keepAlive: true, maxSockets: WRITE_CONNECTIONS });
  const stopped = new AbortController();
  const { signal } = stopped;
  const open = new Set<Promise<void>>();
  const run = async (): Promise<void> => {
    const begin = performance.now();
    for (let sent = 0; !signal.aborted; sent += 1) {
      const due = begin + (sent * 1_000) / rate;
      if (due > performance.now()) await systemClock.sleep(due - performance.now(), signal);
      if (signal.aborted) break;
      if (open.size >= WRITE_CONNECTIONS) await Promise.race(open);
      const one = write(url, agent, next(), load).finally(() => open.delete(one));
      open.add(one);
    }
    await Promise.all(open);
  };
  const running = run();
  return {
    stop: async () => {
      stopped.abort();
      await running;
      agent.destroy();
    },
  };
}

async function write(
  url: string,
  agent: Agent,
  { name, method, path, key, body }: Write,
  load: WriteLoad,
): Promise<void> {
  const since = performance.now();
  try {
    const { status, text } = await send(`${url}${path}`, agent, method, key, body);
    const histogram = load.latencies.get(name) ?? createHistogram();
    load.latencies.set(name, histogram);
    record(histogram, (performance.now() - since) * 1_000);
    const kind = `${name} ${status}`;
    load.answers[kind] = (load.answers[kind] ?? 0) + 1;
    if (status === 200 || status === 201) load.written += 1;
    else if (!REFUSALS.includes(status))
      load.faults.push(`${method} ${path} is answered ${status}: ${text.slice(0, 300)}`);
  } catch (error) {
    load.faults.push(`${method} ${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function send(
  target: string,
  agent: Agent,
  method: string,
  key: string,
  body: Readonly<Record<string, unknown>> | null,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const bytes = body === null ? null : Buffer.from(JSON.stringify(body));
    const headers = {
      accept: 'application/json',
      authorization: `Bearer ${key}`,
      ...(bytes === null ? {} : { 'content-type': 'application/json', 'content-length': bytes.length }),
    };
    const request = open(target, { method, agent, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    });
    request.on('error', reject);
    request.end(bytes ?? undefined);
  });
}
