import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** A child process that executes orders one by one. */
export interface Child<Order, Answer> {
  pid: number;
  ask(order: Order): Promise<Answer>;
  stop(): Promise<void>;
}

/** An answer, or the message of a failure. */
export type Reply<Answer> = { answer: Answer } | { failure: string };

export function startChild<Order extends object, Answer>(program: URL, name: string): Child<Order, Answer> {
  const child = fork(program, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  child.on('error', () => {});
  return {
    pid: child.pid ?? 0,
    ask: async (order) => {
      const ended = new AbortController();
      try {
        const reply = (await Promise.race([
          once(child, 'message', { signal: ended.signal }),
          once(child, 'exit', { signal: ended.signal }).then(() => [{ failure: `${name} has ended` }]),
          sendOrder(child, order).then(() => new Promise<never>(() => {})),
        ])) as [Reply<Answer>];
        if ('failure' in reply[0]) throw new Error(`${name}: ${reply[0].failure}`);
        return reply[0].answer;
      } finally {
        ended.abort();
      }
    },
    stop: async () => {
      if (hasEnded(child)) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

/** Runs in the child. Executes each order, and exits with its parent. */
export function serveOrders<Order, Answer>(act: (order: Order) => Promise<Answer>): void {
  process.on('message', (order: Order) => {
    act(order).then(
      (answer) => process.send?.({ answer } satisfies Reply<Answer>),
      (error: unknown) => {
        const failure = error instanceof Error ? (error.stack ?? error.message) : String(error);
        process.send?.({ failure } satisfies Reply<Answer>);
      },
    );
  });
  process.once('disconnect', () => process.exit(0));
}

function sendOrder(child: ChildProcess, order: object): Promise<void> {
  return new Promise((resolve, reject) => {
    child.send(order, (error) => (error === null ? resolve() : reject(error)));
  });
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
