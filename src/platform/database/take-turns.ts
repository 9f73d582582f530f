import type { ClientBase } from 'pg';
import { withAvailability } from './database-error.ts';
import { runStatements } from './run-query.ts';
import type { Answer, Statement } from './statement-batch.ts';

/** The statements of one transaction on their way to the server: in the order in which they were handed in, one batch at a time. */
export interface Turns {
  ask(statement: Statement): Promise<Answer>;
  /** Never in one batch with a statement that a caller waits for: the failure of that one must not hinder this one. */
  askAlone(statement: Statement): Promise<Answer>;
  /** The last one that is asked, and what ends the transaction along with it. Nothing may be handed in after that. */
  askLast(statement: Statement, ending: Statement): Promise<Answer>;
  /** Whether the last one was handed in. */
  closed(): boolean;
  /** What went along with it; null while it has not gone. */
  ended(): Ending | null;
  /** Goes along with what is asked next. */
  later(statement: Statement): void;
  /** Forgets what has not gone along yet. */
  drop(): void;
  /**
   * Ends the transaction after all others are answered, unless that went along with the last of them. `trailing` are those of `later` that
   * went along. Null: there is nothing to end.
   */
  end(statement: Statement): Ending | null;
  /** Resolves when everything that was asked is answered; never rejects. */
  settled(): Promise<void>;
  /** Whether anything was sent. The transaction begins with its first statement. */
  begun(): boolean;
}

export interface Ending {
  trailing: Promise<Answer>[];
  answer: Promise<Answer>;
}

interface Waiting {
  /** Those of `later` first. */
  statements: Statement[];
  alone: boolean;
  /** What ends the transaction behind them. */
  ending: Statement | null;
  resolve(answer: Promise<Answer>): void;
}

export function createTurns(client: ClientBase, begin: readonly Statement[], limitMs?: number): Turns {
  let begun = false;
  let trailing: Statement[] = [];
  const waiting: Waiting[] = [];
  let sending: Promise<void> | null = null;
  let closed = false;
  let ended: Ending | null = null;

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
      const ending = batch.at(-1)?.ending ?? null;
      const statements = batch.flatMap((one) => one.statements);
      const answers = send(ending === null ? statements : [...statements, ending]);
      handOut(batch, answers);
      if (ending !== null) ended = { trailing: [], answer: lastOf(answers) };
      await Promise.allSettled(answers);
    }
    sending = null;
  };
  const queue = (statement: Statement, alone: boolean, ending: Statement | null = null): Promise<Answer> => {
    const answer = new Promise<Answer>((resolve) => {
      waiting.push({ statements: [...takeTrailing(), statement], alone, ending, resolve });
    });
    sending ??= sendAll();
    return answer;
  };

  return {
    ask: (statement) => queue(statement, false).catch(notEnded),
    askAlone: (statement) => queue(statement, true).catch(notEnded),
    askLast: (statement, ending) => {
      closed = true;
      return queue(statement, false, ending);
    },
    closed: () => closed,
    ended: () => ended,
    later: (statement) => void trailing.push(statement),
    drop: () => void takeTrailing(),
    end: (statement) => {
      if (ended !== null) return ended;
      if (!begun && trailing.length === 0) return null;
      const answers = send([...takeTrailing(), statement]);
      return { trailing: answers.slice(0, -1), answer: lastOf(answers) };
    },
    settled: async () => {
      await sending;
    },
    begun: () => begun,
  };
}

/** Of what went without the commit. */
function notEnded(error: unknown): never {
  throw withAvailability(error, false);
}

/** To each the answer of its last statement. */
function handOut(batch: readonly Waiting[], answers: readonly Promise<Answer>[]): void {
  let at = -1;
  for (const { statements, resolve } of batch) {
    at += statements.length;
    const answer = answers[at];
    if (answer !== undefined) resolve(answer);
  }
}

function lastOf(answers: readonly Promise<Answer>[]): Promise<Answer> {
  return answers.at(-1) ?? Promise.reject(new TypeError('a batch without answers'));
}
