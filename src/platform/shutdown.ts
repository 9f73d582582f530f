import { type Clock, systemClock } from './clock.ts';
import type { Log } from './log.ts';

export const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** The part of `process` that is used here, so that tests can replace it. */
export interface StoppableProcess {
  on(signal: (typeof STOP_SIGNALS)[number], listener: () => void): unknown;
  off(signal: (typeof STOP_SIGNALS)[number], listener: () => void): unknown;
  exit(code: number): void;
}

export interface ShutdownOptions {
  process: StoppableProcess;
  clock: Clock;
  log: Log;
  /** Time for requests in flight. Two facilitator calls and a margin take 20 s. */
  drainMs?: number;
  /** Stops accepting connections and waits for requests in flight, as HttpServer.close does. */
  closeServer(options: { drainMs: number }): Promise<void>;
  /** Closed afterwards in this order: background jobs first, the database last. */
  steps: readonly { name: string; close(): Promise<void> | void }[];
}

export interface Shutdown {
  /** True from the first signal on. `/readyz` then reports not ready. */
  isStopping(): boolean;
  /** Stops the process as a signal does. Resolves with the exit code when everything is closed: 0 if no step failed. */
  stop(reason: string): Promise<number>;
  dispose(): void;
}

const DEFAULT_DRAIN_MS = 20_000;
const STEP_LIMIT_MS = 10_000;

/** Stops the process step by step at the first signal, and immediately at the second. */
export function handleShutdown(options: ShutdownOptions): Shutdown {
  const { log } = options;
  let isStopping = false;
  let closed: Promise<number> | undefined;

  const stop = (reason: string): Promise<number> => {
    // Set this before anything closes, so that `/readyz` reports it in the meantime.
    isStopping = true;
    closed ??= closeAll(options, reason);
    return closed;
  };
  const listeners = STOP_SIGNALS.map((signal) => {
    const listener = (): void => {
      if (isStopping) {
        log.warn('stop_forced', { signal });
        options.process.exit(1);
        return;
      }
      void stop(signal).then((code) => options.process.exit(code));
    };
    options.process.on(signal, listener);
    return { signal, listener };
  });
  return {
    isStopping: () => isStopping,
    stop,
    dispose: () => {
      for (const { signal, listener } of listeners) options.process.off(signal, listener);
    },
  };
}

async function closeAll(options: ShutdownOptions, reason: string): Promise<number> {
  const { clock, log } = options;
  const drainMs = options.drainMs ?? DEFAULT_DRAIN_MS;
  const startedAt = clock.now();
  log.info('stopping', { signal: reason });
  const steps = [
    { name: 'http', close: () => options.closeServer({ drainMs }), limitMs: drainMs + STEP_LIMIT_MS },
    ...options.steps.map((step) => ({ ...step, limitMs: STEP_LIMIT_MS })),
  ];
  let failed = false;
  for (const step of steps) {
    try {
      await runWithin(clock, step.limitMs, async () => step.close());
    } catch (error) {
      failed = true;
      log.error('shutdown_step_failed', { step: step.name, error });
    }
  }
  log.info('stopped', { ms: clock.now() - startedAt });
  return failed ? 1 : 0;
}

/** Limits the duration of a step, so that one that hangs does not keep the others from closing. */
async function runWithin(clock: Clock, limitMs: number, work: () => Promise<void>): Promise<void> {
  const done = new AbortController();
  const late = clock.sleep(limitMs, done.signal).then(() => {
    if (!done.signal.aborted) throw new Error(`not closed within ${limitMs} ms`);
  });
  try {
    await Promise.race([work(), late]);
  } finally {
    done.abort();
  }
}

/**
 * Keeps stop signals from ending the process until `release`, which returns the first one. A process killed during its start would leave a
 * database running.
 */
export function deferSignals(): { release(): NodeJS.Signals | null } {
  let received: NodeJS.Signals | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    received ??= signal;
  };
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  return {
    release: () => {
      for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
      return received;
    },
  };
}

export interface ServerRun {
  /** Resolves when the embedded database has exited, whether `steps` stopped it or it exited on its own. */
  databaseEnded: Promise<void>;
  /** Stops accepting connections, gives requests in flight `drainMs` to finish, then stops background work. */
  stopServing(options: { drainMs: number }): Promise<void>;
  /** Closed afterwards in this order. */
  steps: ShutdownOptions['steps'];
}

/** Runs a site in this process: starts it, stops it at a signal, and exits if the site's database exits. */
export async function runInForeground<Run extends ServerRun>(
  start: () => Promise<Run>,
  { site, log, drainMs }: { site: 'market' | 'city'; log: Log; drainMs: number },
): Promise<{ run: Run; shutdown: Shutdown }> {
  const signals = deferSignals();
  const run = await start().catch((error: unknown) => {
    log.error(`${site}_not_started`, { error });
    process.exit(1);
  });
  const { steps } = run;
  const closeServer = (options: { drainMs: number }): Promise<void> => run.stopServing(options);
  const shutdown = handleShutdown({ process, clock: systemClock, log, drainMs, closeServer, steps });
  const early = signals.release();
  if (early !== null) process.exit(await shutdown.stop(early));
  void run.databaseEnded.then(() => {
    if (shutdown.isStopping()) return;
    log.error('database_ended', {
      detail: `The embedded PostgreSQL stopped, so the ${site} cannot continue. Find the cause in its log, then start the ${site} again.`,
    });
    process.exit(1);
  });
  return { run, shutdown };
}

type Undo = () => Promise<void> | void;

/** Runs `start`. If it fails, runs the deferred undo steps in reverse and rethrows. Replaces AsyncDisposableStack, which Node 22 lacks. */
export async function undoOnFailure<T>(start: (begun: { defer(undo: Undo): void }) => Promise<T>): Promise<T> {
  const begun: Undo[] = [];
  try {
    return await start({ defer: (undo) => begun.push(undo) });
  } catch (error) {
    const alsoFailed: unknown[] = [];
    for (const undo of begun.reverse()) {
      try {
        await undo();
      } catch (failure) {
        alsoFailed.push(failure);
      }
    }
    if (alsoFailed.length === 0) throw error;
    throw new AggregateError([error, ...alsoFailed], error instanceof Error ? error.message : String(error));
  }
}
