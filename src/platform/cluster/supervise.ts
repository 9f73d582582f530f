import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import { type RunningWorker, startWorker } from './start-worker.ts';

/** Who ends sooner after it was ready, or was never ready, died young. */
const YOUNG_MS = 10_000;
const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 30_000;
/** So often in a row each place may lose a young worker, once the first of all has served. Before that, a start that fails is a failed start. */
const MOST_YOUNG = 6;

export interface SupervisionOptions {
  count: number;
  /** Handed to each worker; JSON. */
  task: unknown;
  clock: Clock;
  log: Log;
}

export interface Supervision {
  start(): void;
  /** Resolves when no worker can live. The workers have to be stopped all the same. */
  failed: Promise<void>;
  /** What each ready worker answers in that time; who does not is left out. */
  ask(patienceMs: number): Promise<{ number: number; answer: unknown }[]>;
  state(): { ready: number; restarts: number };
  /** Tells all to end, and kills those that have not after that long. */
  stop(options: { drainMs: number }): Promise<void>;
}

interface Place {
  number: number;
  worker: RunningWorker | null;
  ready: boolean;
  /** How many in a row died young. */
  young: number;
}

/** Keeps so many workers alive: each that dies is replaced at once, and with growing delays where successors die young. */
export function superviseWorkers({ count, task, clock, log }: SupervisionOptions): Supervision {
  const places = Array.from({ length: count }, (_, index): Place => {
    return { number: index + 1, worker: null, ready: false, young: 0 };
  });
  const stopping = new AbortController();
  const failure = Promise.withResolvers<void>();
  let keeping: Promise<unknown> = Promise.resolve();
  let everReady = false;
  let restarts = 0;

  const runOne = async (place: Place): Promise<void> => {
    const worker = startWorker(place.number, task);
    let readyAt: number | null = null;
    place.worker = worker;
    void worker.ready.then(() => {
      everReady = true;
      place.ready = true;
      readyAt = clock.now();
    });
    const { code, signal } = await worker.ended;
    place.worker = null;
    place.ready = false;
    if (stopping.signal.aborted) return;
    place.young = readyAt !== null && clock.now() - readyAt >= YOUNG_MS ? 0 : place.young + 1;
    log.error('worker_ended', { worker: place.number, pid: worker.pid, code, signal, attempt: place.young });
  };

  const keep = async (place: Place): Promise<void> => {
    for (;;) {
      await runOne(place);
      if (stopping.signal.aborted) return;
      const most = everReady ? MOST_YOUNG : 1;
      if (places.every(({ ready, young }) => !ready && young >= most)) failure.resolve();
      if (place.young > 1) {
        await clock.sleep(Math.min(FIRST_DELAY_MS * 2 ** (place.young - 2), LONGEST_DELAY_MS), stopping.signal);
      }
      if (stopping.signal.aborted) return;
      restarts += 1;
    }
  };

  const killLate = async (drainMs: number, ended: AbortSignal): Promise<void> => {
    await clock.sleep(drainMs, ended);
    for (const { number, worker } of places) {
      if (worker === null) continue;
      log.warn('worker_killed', { worker: number, pid: worker.pid, waited_ms: drainMs });
      worker.kill();
    }
  };

  return {
    start: () => {
      keeping = Promise.all(places.map(keep));
    },
    failed: failure.promise,
    ask: (patienceMs) => askReady(places, clock, patienceMs),
    state: () => ({ ready: places.filter(({ ready }) => ready).length, restarts }),
    stop: async ({ drainMs }) => {
      stopping.abort();
      for (const { worker } of places) worker?.stop();
      const ended = new AbortController();
      const late = killLate(drainMs, ended.signal);
      await keeping;
      ended.abort();
      await late;
    },
  };
}

async function askReady(places: readonly Place[], clock: Clock, patienceMs: number) {
  const patience = new AbortController();
  const done = new AbortController();
  void clock.sleep(patienceMs, done.signal).then(() => patience.abort());
  const asked = places.flatMap(({ number, worker, ready }) => {
    if (worker === null || !ready) return [];
    const answered = worker.ask(patience.signal).then((answer) => [{ number, answer }]);
    return [answered.catch(() => [])];
  });
  const answers = await Promise.all(asked);
  done.abort();
  return answers.flat();
}
