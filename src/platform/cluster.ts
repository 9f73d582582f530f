import cluster, { type Worker } from 'node:cluster';
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

/** Messages between supervisor and workers. Both run the same build, so messages have no version. */
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

/** A worker that was never ready, or ends sooner than this after it was ready, counts as an early failure. */
const EARLY_FAILURE_MS = 10_000;
const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 30_000;
/** Gives up after this many consecutive early failures in every slot. Until some worker has been ready, one in every slot is enough. */
const MAX_EARLY_FAILURES = 6;

interface SupervisionOptions {
  count: number;
  /** JSON, passed to each worker. */
  task: unknown;
  clock: Clock;
  log: Log;
}

export interface Supervision {
  start(): void;
  /** Resolves when no worker can be kept alive. Call `stop` even then. */
  failed: Promise<void>;
  /** Returns the answers of ready workers that arrive within `patienceMs`. */
  ask(patienceMs: number): Promise<{ number: number; answer: unknown }[]>;
  state(): { ready: number; restarts: number };
  /** Tells all workers to stop, and kills those still running after `drainMs`. */
  stop(options: { drainMs: number }): Promise<void>;
}

interface WorkerSlot {
  number: number;
  worker: RunningWorker | null;
  ready: boolean;
  /** Consecutive early failures. */
  earlyFailures: number;
}

/** Keeps `count` workers alive. Replaces each one that exits, with growing delays after early failures. */
export function superviseWorkers({ count, task, clock, log }: SupervisionOptions): Supervision {
  const slots = Array.from({ length: count }, (_, index): WorkerSlot => {
    return { number: index + 1, worker: null, ready: false, earlyFailures: 0 };
  });
  const stopping = new AbortController();
  const failure = Promise.withResolvers<void>();
  let running: Promise<unknown> = Promise.resolve();
  let hasServed = false;
  let restarts = 0;

  const runOne = async (slot: WorkerSlot): Promise<void> => {
    const worker = startWorker(slot.number, task);
    let readyAt: number | null = null;
    slot.worker = worker;
    void worker.ready.then(() => {
      hasServed = true;
      slot.ready = true;
      readyAt = clock.now();
    });
    const { code, signal } = await worker.ended;
    slot.worker = null;
    slot.ready = false;
    if (stopping.signal.aborted) return;
    slot.earlyFailures = readyAt !== null && clock.now() - readyAt >= EARLY_FAILURE_MS ? 0 : slot.earlyFailures + 1;
    log.error('worker_ended', { worker: slot.number, pid: worker.pid, code, signal, attempt: slot.earlyFailures });
  };

  const keepAlive = async (slot: WorkerSlot): Promise<void> => {
    for (;;) {
      await runOne(slot);
      if (stopping.signal.aborted) return;
      const most = hasServed ? MAX_EARLY_FAILURES : 1;
      if (slots.every(({ ready, earlyFailures }) => !ready && earlyFailures >= most)) failure.resolve();
      if (slot.earlyFailures > 1) {
        await clock.sleep(Math.min(FIRST_DELAY_MS * 2 ** (slot.earlyFailures - 2), LONGEST_DELAY_MS), stopping.signal);
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
      running = Promise.all(slots.map(keepAlive));
    },
    failed: failure.promise,
    ask: (patienceMs) => askReady(slots, clock, patienceMs),
    state: () => ({ ready: slots.filter(({ ready }) => ready).length, restarts }),
    stop: async ({ drainMs }) => {
      stopping.abort();
      for (const { worker } of slots) worker?.stop();
      const ended = new AbortController();
      const late = killLate(drainMs, ended.signal);
      await running;
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
  /** Resolves when the worker is serving. Never resolves if the worker exits first. */
  ready: Promise<void>;
  ended: Promise<WorkerEnd>;
  /** Rejects if no answer arrives before the signal is aborted. */
  ask(signal: AbortSignal): Promise<unknown>;
  stop(): void;
  kill(): void;
}

/** Starts this program again as a worker. All workers share the ports on which they listen. */
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
  // The worker could not be started or reached.
  worker.on('error', () => {
    worker.process.kill('SIGKILL');
    if (worker.process.pid === undefined) ended.resolve({ code: null, signal: null });
  });
  closeUnclaimedConnection(worker);
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
 * Closes a connection that a dying worker left behind. If a worker dies before it takes over a connection, Node forgets that connection: it
 * stays open here, and its client waits for ever. So remember the last connection sent and close it when the worker has exited. If the
 * worker did take it over, this process has closed its own end already, so closing again does nothing.
 */
function closeUnclaimedConnection(worker: Worker): void {
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
  // Listens to 'exit', because Node does not emit 'disconnect' while such a connection is being sent.
  child.once('exit', () => last?.close());
}

export interface WorkerAssignment {
  /** Counts from 1. A replacement gets the number of the worker it replaces. */
  number: number;
  task: unknown;
  /** Call once, when this worker is serving. */
  ready(): void;
}

interface WorkerHandlers {
  onStop(): void;
  /** Called when the supervisor is gone. The process exits right afterwards. */
  onOrphaned(): void;
  answer(): Promise<unknown>;
}

/** Resolves with this worker's assignment. Returns null if the process is not a worker. */
export function joinSupervisor(handlers: WorkerHandlers): Promise<WorkerAssignment> | null {
  const { worker } = cluster;
  if (worker === undefined || !cluster.isWorker) return null;
  const say = (message: ToSupervisor): void => {
    // Ignore errors: without a supervisor this process exits anyway.
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
          // Send no answer, so the supervisor continues without it.
          () => {},
        );
      }
    });
  });
}
