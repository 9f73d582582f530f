export interface Running {
  /** Collects everything that was started. It is stopped at the end, even after a failure. */
  begun: AsyncDisposableStack;
  signal: AbortSignal;
  tell(line: string): void;
}

export interface Bench<Options> {
  help: string;
  /** Returns null if the help is to be printed. Throws on wrong arguments. */
  read(args: readonly string[]): Options | null;
  measure(options: Options, running: Running): Promise<void>;
}

const begin = performance.now();

export const secondsSoFar = (): number => (performance.now() - begin) / 1_000;

const tell = (line: string): void =>
  void process.stderr.write(`[${secondsSoFar().toFixed(1).padStart(6)} s] ${line}\n`);

/** Runs a benchmark as a program, and leaves no process behind. */
export function runBench<Options>(bench: Bench<Options>): void {
  run(bench).catch((error: unknown) => {
    if (process.exitCode === undefined) process.exitCode = 1;
    console.error(error instanceof Error && error.stack !== undefined ? error.stack : error);
  });
}

/** Reports a wrong option in one line, without a stack trace. */
function readOrExit<Options>(read: Bench<Options>['read']): Options | null {
  try {
    return read(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(2);
  }
}

async function run<Options>({ help, read, measure }: Bench<Options>): Promise<void> {
  const options = readOrExit(read);
  if (options === null) {
    process.stdout.write(help);
    return;
  }
  const begun = new AsyncDisposableStack();
  const breaking = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let stopped: Promise<void> | null = null;
  // Share one disposal, because a second one would return before the first is done.
  const stopAll = (): Promise<void> => {
    stopped ??= begun.disposeAsync();
    return stopped;
  };
  const breakOff = (why: string, code: number): void => {
    if (breaking.signal.aborted) return;
    breaking.abort(new Error(why));
    tell(`${why}: stopping what was started`);
    // A process that is just starting either joins the stack or stops by itself, so wait for the run as well before exiting.
    const ended = running.catch(() => {});
    void stopAll()
      .then(() => ended)
      .finally(() => process.exit(code));
  };
  process.on('SIGINT', () => breakOff('broken off', 130));
  process.on('SIGTERM', () => breakOff('broken off', 143));
  // PostgreSQL outlives a crashed process, so it must be stopped here.
  process.on('uncaughtException', (error) => breakOff(error.stack ?? error.message, 1));
  process.stdout.on('error', () => breakOff('the reader of the outcome has gone', 1));
  process.stderr.on('error', () => breakOff('the reader of the progress has gone', 1));
  try {
    running = measure(options, { begun, signal: breaking.signal, tell });
    await running;
    tell('stopping');
  } catch (error) {
    // Stopping the servers makes pending work fail. Those failures are not the cause.
    if (!breaking.signal.aborted) throw error;
  } finally {
    await stopAll();
  }
}
