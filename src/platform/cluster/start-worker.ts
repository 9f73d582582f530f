import cluster, { type Worker } from 'node:cluster';
import { isToSupervisor, type ToWorker } from './messages.ts';

export interface WorkerEnd {
  code: number | null;
  signal: string | null;
}

/** One process, from its start to its end. */
export interface RunningWorker {
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
export function startWorker(number: number, task: unknown): RunningWorker {
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
