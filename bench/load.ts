import { cpus } from 'node:os';
import { openWire } from './wire.ts';

export interface Slice {
  perSecond: number;
  bytesPerRequest: number;
  /** CPU use of the client, as a share of one core. */
  clientShare: number;
  /** CPU use of all programs on the machine, as a share of one core. */
  machineShare: number;
}

/** Sends the requests in the same order for the given time, or each once if there is none. Every answer must be a 200. */
export async function load(
  url: string,
  requests: readonly Buffer[],
  given: { connections: number; seconds?: number },
): Promise<Slice> {
  const wires = await Promise.all(Array.from({ length: given.connections }, () => openWire(url, { keepBody: false })));
  const cpu = process.cpuUsage();
  const busyBefore = busyMs();
  const begin = performance.now();
  const goesOn = (): boolean =>
    given.seconds === undefined ? next < requests.length : performance.now() < begin + given.seconds * 1_000;
  let next = 0;
  let answered = 0;
  let bytes = 0;
  const run = async (wire: (typeof wires)[number]): Promise<void> => {
    while (goesOn()) {
      const request = requests[next++ % requests.length];
      if (request === undefined) throw new Error('nothing to ask');
      const answer = await wire.ask(request);
      if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${request.toString().split('\r\n')[0]}`);
      answered += 1;
      bytes += answer.bytes;
    }
  };
  try {
    await Promise.all(wires.map(run));
  } finally {
    for (const wire of wires) wire.close();
  }
  const seconds = (performance.now() - begin) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return {
    perSecond: answered / seconds,
    bytesPerRequest: bytes / answered,
    clientShare: (user + system) / 1e6 / seconds,
    machineShare: (busyMs() - busyBefore) / 1_000 / seconds,
  };
}

/** Returns the CPU time of all programs on all cores. */
export function busyMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1] ?? Number.NaN, sorted[Math.floor(middle)] ?? Number.NaN];
  return (low + high) / 2;
}
