import type { ClientBase } from 'pg';
import { withAvailability } from './database-error.ts';
import { runStatements } from './run-query.ts';
import type { Answer, Statement } from './statement-batch.ts';

/** The statements of one transaction on their way to the server: in the order in which they were handed in, one batch at a time. */
export interface Turns {
  ask(statement: Statement): Promise<Answer>;
  /** Never in one batch with another that somebody waits for: the failure of that one must not hinder it. */
  askAlone(statement: Statement): Promise<Answer>;
  /** Goes along with what is asked next. */
  later(statement: Statement): void;
  /** Forgets what has not gone along yet. */
  drop(): void;
  /** The last one, after all others are answered. `trailing` are those of `later` that went along. Null: there is nothing to end. */
  end(statement: Statement): { trailing: Promise<Answer>[]; answer: Promise<Answer> } | null;
  /** Resolves when everything that was asked is answered; never rejects. */
  settled(): Promise<void>;
  /** Whether anything was sent. The transaction begins with its first statement. */
  begun(): boolean;
}

interface Waiting {
  /** Those of `later` first. */
  statements: Statement[];
  alone: boolean;
  resolve(answer: Promise<Answer>): void;
}

export function createTurns(client: ClientBase, begin: readonly Statement[], limitMs?: number): Turns {
  let begun = false;
  let trailing: Statement[] = [];
  const waiting: Waiting[] = [];
  let sending: Promise<void> | null = null;

  const send = (statements: readonly Statement[]): Promise<Answer>[] => {
    if (begun) return runStatements(client, statements, limitMs);
    begun = true;
    return runStatements(client, [...begin, ...statements], limitMs).slice(begin.length);
  };
  const takeTrailing = (): Statement[] => {
    const taken = trailing;
    trailing = [];
    return taken;
  };
  const nextBatch = (): Waiting[] => {
    const stop = waiting.findIndex(({ alone }, at) => at > 0 && (alone || waiting[0]?.alone === true));
    return waiting.splice(0, stop === -1 ? waiting.length : stop);
  };
  const sendAll = async (): Promise<void> => {
    // So that whatever is handed in without waiting is in the same batch.
    await null;
    while (waiting.length > 0) {
      const batch = nextBatch();
      const answers = send(batch.flatMap(({ statements }) => statements));
      let at = -1;
      for (const { statements, resolve } of batch) {
        at += statements.length;
        const answer = answers[at];
        if (answer !== undefined) resolve(answer);
      }
      await Promise.allSettled(answers);
    }
    sending = null;
  };
  const queue = (statement: Statement, alone: boolean): Promise<Answer> => {
    const answer = new Promise<Answer>((resolve) => {
      waiting.push({ statements: [...takeTrailing(), statement], alone, resolve });
    });
    sending ??= sendAll();
    return answer.catch((error: unknown) => {
      throw withAvailability(error, false);
    });
  };

  return {
    ask: (statement) => queue(statement, false),
    askAlone: (statement) => queue(statement, true),
    later: (statement) => void trailing.push(statement),
    drop: () => void takeTrailing(),
    end: (statement) => {
      if (!begun && trailing.length === 0) return null;
      const answers = send([...takeTrailing(), statement]);
      const answer = answers.pop() ?? Promise.reject(new TypeError('a batch without answers'));
      return { trailing: answers, answer };
    },
    settled: async () => {
      await sending;
    },
    begun: () => begun,
  };
}
