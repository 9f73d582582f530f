import cluster, { type Worker } from 'node:cluster';
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

/** Messages between supervisor and workers. Both run the same file, so they need no version. */
export type ToWorker =
  | { say: 'begin'; number: number; task: unknown }
  | { say: 'stop' }
  | { say: 'ask'; question: number };

export type ToSupervisor = { say: 'ready' } | { say: 'answer'; question: number; value: unknown };

function isToWorker(message: unknown): message is ToWorker {
  const said = messageKind(message);
  return said === 'begin' || said === 'stop' || said === 'ask';
}

function isToSupervisor(message: unknown): message is ToSupervisor {
  const said = messageKind(message);
  return said === 'ready' || said === 'answer';
}

function messageKind(message: unknown): unknown {
  return message !== null && typeof message === 'object' && 'say' in message ? message.say : null;
}

/** A worker that ends sooner after it was ready, or was never ready, counts as failed early. */
const YOUNG_MS = 10_000;
const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 30_000;
/** Early failures in a row that each slot may have once some worker has served. Before that, one in every slot ends the start. */
const MOST_YOUNG = 6;

interface SupervisionOptions {
  count: number;
  /** Passed to each worker; JSON. */
  task: unknown;
  clock: Clock;
  log: Log;
}

export interface Supervision {
  start(): void;
  /** Resolves when no worker can be kept alive. Stop the workers even then. */
  failed: Promise<void>;
  /** Answers of the ready workers that arrive in that time. */
  ask(patienceMs: number): Promise<{ number: number; answer: unknown }[]>;
  state(): { ready: number; restarts: number };
  /** Tells all workers to end, and kills those still running after `drainMs`. */
  stop(options: { drainMs: number }): Promise<void>;
}

interface WorkerSlot {
  number: number;
  worker: RunningWorker | null;
  ready: boolean;
  /** Early failures in a row. */
  young: number;
}

/** Keeps `count` workers alive: replaces each one that ends, with growing delays after early failures. */
export function superviseWorkers({ count, task, clock, log }: SupervisionOptions): Supervision {
  const slots = Array.from({ length: count }, (_, index): WorkerSlot => {
    return { number: index + 1, worker: null, ready: false, young: 0 };
  });
  const stopping = new AbortController();
  const failure = Promise.withResolvers<void>();
  let keeping: Promise<unknown> = Promise.resolve();
  let everReady = false;
  let restarts = 0;

  const runOne = async (slot: WorkerSlot): Promise<void> => {
    const worker = startWorker(slot.number, task);
    let readyAt: number | null = null;
    slot.worker = worker;
    void worker.ready.then(() => {
      everReady = true;
      slot.ready = true;
      readyAt = clock.now();
    });
    const { code, signal } = await worker.ended;
    slot.worker = null;
    slot.ready = false;
    if (stopping.signal.aborted) return;
    slot.young = readyAt !== null && clock.now() - readyAt >= YOUNG_MS ? 0 : slot.young + 1;
    log.error('worker_ended', { worker: slot.number, pid: worker.pid, code, signal, attempt: slot.young });
  };

  const keep = async (slot: WorkerSlot): Promise<void> => {
    for (;;) {
      await runOne(slot);
      if (stopping.signal.aborted) return;
      const most = everReady ? MOST_YOUNG : 1;
      if (slots.every(({ ready, young }) => !ready && young >= most)) failure.resolve();
      if (slot.young > 1) {
        await clock.sleep(Math.min(FIRST_DELAY_MS * 2 ** (slot.young - 2), LONGEST_DELAY_MS), stopping.signal);
      }
      if (stopping.signal.aborted) return;
      restarts += 1;
    }
  };

  const killLate = async (drainMs: number, ended: AbortSignal): Promise<void> => {
    await clock.sleep(drainMs, ended);
    for (const { number, worker } of slots) {
      if (worker === null) continue;
      log.warn('worker_killed', { worker: number, pid: worker.pid, waited_ms: drainMs });
      worker.kill();
    }
  };

  return {
    start: () => {
      keeping = Promise.all(slots.map(keep));
    },
    failed: failure.promise,
    ask: (patienceMs) => askReady(slots, clock, patienceMs),
    state: () => ({ ready: slots.filter(({ ready }) => ready).length, restarts }),
    stop: async ({ drainMs }) => {
      stopping.abort();
      for (const { worker } of slots) worker?.stop();
      const ended = new AbortController();
      const late = killLate(drainMs, ended.signal);
      await keeping;
      ended.abort();
      await late;
    },
  };
}

async function askReady(slots: readonly WorkerSlot[], clock: Clock, patienceMs: number) {
  const patience = new AbortController();
  const done = new AbortController();
  void clock.sleep(patienceMs, done.signal).then(() => patience.abort());
  const pending = slots.flatMap(({ number, worker, ready }) => {
    if (worker === null || !ready) return [];
    const answered = worker.ask(patience.signal).then((answer) => [{ number, answer }]);
    return [answered.catch(() => [])];
  });
  const answers = await Promise.all(pending);
  done.abort();
  return answers.flat();
}

interface WorkerEnd {
  code: number | null;
  signal: string | null;
}

interface RunningWorker {
  pid: number | undefined;
  /** Resolves when the worker serves; never if it ends before. */
  ready: Promise<void>;
  ended: Promise<WorkerEnd>;
  /** Rejects if no answer arrives before the signal is aborted. */
  ask(signal: AbortSignal): Promise<unknown>;
  stop(): void;
  kill(): void;
}

/** Starts this program again as a worker that shares the ports it listens on. */
function startWorker(number: number, task: unknown): RunningWorker {
  const worker = cluster.fork();
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<WorkerEnd>();
  const questions = new Map<number, (value: unknown) => void>();
  let lastQuestion = 0;
  const say = (message: ToWorker): void => {
    worker.send(message, () => {});
  };
  worker.on('message', (message: unknown) => {
    if (!isToSupervisor(message)) return;
    if (message.say === 'ready') ready.resolve();
    else questions.get(message.question)?.(message.value);
  });
  worker.on('exit', (code: number | null, signal: string | null) => ended.resolve({ code, signal }));
  // The worker could not be started, or could not be written to.
  worker.on('error', () => {
    worker.process.kill('SIGKILL');
    if (worker.process.pid === undefined) ended.resolve({ code: null, signal: null });
  });
  closeUntakenConnection(worker);
  say({ say: 'begin', number, task });
  return {
    pid: worker.process.pid,
    ready: ready.promise,
    ended: ended.promise,
    ask: (signal) => {
      lastQuestion += 1;
      const question = lastQuestion;
      const answer = Promise.withResolvers<unknown>();
      questions.set(question, answer.resolve);
      signal.addEventListener('abort', () => answer.reject(new Error('no answer in time')), { once: true });
      say({ say: 'ask', question });
      return answer.promise.finally(() => questions.delete(question));
    },
    stop: () => say({ say: 'stop' }),
    kill: () => void worker.process.kill('SIGKILL'),
  };
}

/**
 * If a worker dies before it takes a connection that was passed to it, Node forgets that connection: it stays open here, and its client
 * waits for ever. So this remembers the last one and closes it when the worker has ended. Closing one that the worker did take does
 * nothing: this process closed its own end already.
 */
function closeUntakenConnection(worker: Worker): void {
  const { process: child } = worker;
  const send = child.send.bind(child) as (...args: unknown[]) => boolean;
  let last: { close(): void } | null = null;
  child.send = (...args: unknown[]): boolean => {
    const handle = args[1];
    if (handle !== null && typeof handle === 'object' && 'close' in handle && typeof handle.close === 'function') {
      last = handle as { close(): void };
    }
    return send(...args);
  };
  // 'exit' and not 'disconnect': Node does not emit 'disconnect' while such a connection is on its way.
  child.once('exit', () => last?.close());
}

export interface WorkerAssignment {
  /** From 1 up; a replacement gets the number of the worker it replaces. */
  number: number;
  task: unknown;
  /** Call once, when this worker serves. */
  ready(): void;
}

interface WorkerHandlers {
  onStop(): void;
  /** The supervisor is gone; this process ends right afterwards. */
  onOrphaned(): void;
  /** Answers a question of the supervisor. */
  answer(): Promise<unknown>;
}

/** Resolves with this worker's assignment; null if the process is not a worker. */
export function joinSupervisor(handlers: WorkerHandlers): Promise<WorkerAssignment> | null {
  const { worker } = cluster;
  if (worker === undefined || !cluster.isWorker) return null;
  const say = (message: ToSupervisor): void => {
    // Ignores errors: without a supervisor this process ends anyway.
    worker.send(message, () => {});
  };
  worker.on('disconnect', () => handlers.onOrphaned());
  return new Promise((resolve) => {
    worker.on('message', (message: unknown) => {
      if (!isToWorker(message)) return;
      if (message.say === 'begin') {
        resolve({ number: message.number, task: message.task, ready: () => say({ say: 'ready' }) });
      } else if (message.say === 'stop') {
        handlers.onStop();
      } else {
        const { question } = message;
        handlers.answer().then(
          (value) => say({ say: 'answer', question, value }),
          // Sends no answer: the supervisor goes on without it.
          () => {},
        );
      }
    });
  });
}
