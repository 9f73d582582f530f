import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** A process of our own that does one thing after the other as it is told. */
export interface Child<Order, Answer> {
  pid: number;
  ask(order: Order): Promise<Answer>;
  stop(): Promise<void>;
}

/** What comes back: an answer, or why there is none. */
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
          sent(child, order).then(() => new Promise<never>(() => {})),
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

/** The other side: does each order, and ends with the process that gives them. */
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

function sent(child: ChildProcess, order: object): Promise<void> {
  return new Promise((resolve, reject) => {
    child.send(order, (error) => (error === null ? resolve() : reject(error)));
  });
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
