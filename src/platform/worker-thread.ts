import { parentPort, Worker } from 'node:worker_threads';

/** A program on a thread of its own that answers questions one after another. */
export interface Thread<Question, Answer> {
  /** Transfers the memory in `transfer` without copying. Rejects if the thread failed or was stopped. */
  ask(question: Question, transfer: ArrayBuffer[]): Promise<Answer>;
  stop(): Promise<void>;
}

/** Starts a program that calls `answerQuestions`. Passes it no environment, which may hold secrets. */
export function startThread<Question, Answer>(program: URL): Thread<Question, Answer> {
  // Pass no options of this process either, because they may load code meant for its main thread.
  const worker = new Worker(program, { env: {}, execArgv: [] });
  const unanswered: PromiseWithResolvers<Answer>[] = [];
  let ended: Error | null = null;
  const end = (reason: Error): void => {
    ended ??= reason;
    for (const { reject } of unanswered.splice(0)) reject(ended);
  };
  worker.on('message', (answer: Answer) => unanswered.shift()?.resolve(answer));
  worker.on('error', (error: unknown) => end(error instanceof Error ? error : new Error(String(error))));
  worker.on('messageerror', end);
  worker.on('exit', (code) => end(new Error(`the thread has ended with ${code}`)));
  return {
    ask: (question, transfer) => {
      if (ended !== null) return Promise.reject(ended);
      const pending = Promise.withResolvers<Answer>();
      unanswered.push(pending);
      worker.postMessage(question, transfer);
      return pending.promise;
    },
    stop: async () => {
      end(new Error('the thread was stopped'));
      await worker.terminate();
    },
  };
}

export interface Answered<Answer> {
  answer: Answer;
  /** Memory of the answer to transfer without copying. */
  transfer: ArrayBuffer[];
}

/** Serves the questions; call it last in the program. If `answer` throws, the thread ends and the caller gets the error. */
export function answerQuestions<Question, Answer>(answer: (question: Question) => Answered<Answer>): void {
  const port = parentPort;
  if (port === null) throw new Error('this program is for a thread');
  port.on('message', (question: Question) => {
    const answered = answer(question);
    port.postMessage(answered.answer, answered.transfer);
  });
}
