import cluster, { type Worker } from 'node:cluster';
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

/** What supervisor and worker say to each other. Both run the same file, so the shapes need no versions. */
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

/** Who ends sooner after it was ready, or was never ready, died young. */
const YOUNG_MS = 10_000;
const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 30_000;
/** So often in a row each slot may lose a young worker, once the first of all has served. Before that, a start that fails is a failed start. */
const MOST_YOUNG = 6;

interface SupervisionOptions {
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

interface WorkerSlot {
  number: number;
  worker: RunningWorker | null;
  ready: boolean;
  /** How many in a row died young. */
  young: number;
}

/** Keeps so many workers alive: each that dies is replaced at once, and with growing delays where successors die young. */
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
  const asked = slots.flatMap(({ number, worker, ready }) => {
    if (worker === null || !ready) return [];
    const answered = worker.ask(patience.signal).then((answer) => [{ number, answer }]);
    return [answered.catch(() => [])];
  });
  const answers = await Promise.all(asked);
  done.abort();
  return answers.flat();
}

interface WorkerEnd {
  code: number | null;
  signal: string | null;
}

/** One process, from its start to its end. */
interface RunningWorker {
  pid: number | undefined;
  /** Resolves when it serves; never when it ends before. */
  ready: Promise<void>;
  ended: Promise<WorkerEnd>;
  /** Rejects when it does not answer in that time. */
  ask(signal: AbortSignal): Promise<unknown>;
  stop(): void;
  kill(): void;
}

/** Starts the program of this process once more, as a worker that shares the ports it listens on. */
function startWorker(number: number, task: unknown): RunningWorker {
  const worker = cluster.fork();
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<WorkerEnd>();
  const questions = new Map<number, (value: unknown) => void>();
  let asked = 0;
  const say = (message: ToWorker): void => {
    worker.send(message, () => {});
  };
  worker.on('message', (message: unknown) => {
    if (!isToSupervisor(message)) return;
    if (message.say === 'ready') ready.resolve();
    else questions.get(message.question)?.(message.value);
  });
  worker.on('exit', (code: number | null, signal: string | null) => ended.resolve({ code, signal }));
  // It could not be started, or not be written to.
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
      asked += 1;
      const question = asked;
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
 * A connection that was handed to a worker which died before it took it stays open in this process, and its client would wait for
 * ever: Node forgets it. So the last one handed over is remembered and closed after the worker's end; for one that was taken that
 * does nothing, since this process has closed its own end of it already.
 */
function closeUntakenConnection(worker: Worker): void {
  const { process: child } = worker;
  const send = child.send.bind(child) as (...given: unknown[]) => boolean;
  let last: { close(): void } | null = null;
  child.send = (...given: unknown[]): boolean => {
    const handle = given[1];
    if (handle !== null && typeof handle === 'object' && 'close' in handle && typeof handle.close === 'function') {
      last = handle as { close(): void };
    }
    return send(...given);
  };
  // Not at the end of the channel: that is never told where such a connection is on its way.
  child.once('exit', () => last?.close());
}

/** The slot of this process among the workers of a supervisor. */
export interface WorkerAssignment {
  /** From 1 up; a successor has the number of the one it stands in for. */
  number: number;
  /** What the supervisor gives to each worker. */
  task: unknown;
  /** To be called once, when this worker serves. */
  ready(): void;
}

interface WorkerHandlers {
  /** The supervisor wants this worker to end. */
  onStop(): void;
  /** The supervisor is gone; right after this the process ends by itself. */
  onOrphaned(): void;
  /** What this worker answers to a question of the supervisor. */
  answer(): Promise<unknown>;
}

/** Resolves with the slot that the supervisor gives to this process; null at once when the process is no worker. */
export function joinSupervisor(handlers: WorkerHandlers): Promise<WorkerAssignment> | null {
  const { worker } = cluster;
  if (worker === undefined || !cluster.isWorker) return null;
  const say = (message: ToSupervisor): void => {
    // A supervisor that is gone hears nothing, and the end of this process follows.
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
          // Silence is an answer too: the supervisor does without.
          () => {},
        );
      }
    });
  });
}
