import { parentPort } from 'node:worker_threads';

export interface Answered<Answer> {
  answer: Answer;
  /** Memory of the answer that is handed over and not copied. */
  given: ArrayBuffer[];
}

/** What the program of a thread ends in. If `answer` throws, the thread ends, and the caller gets the error. */
export function answerQuestions<Question, Answer>(answer: (question: Question) => Answered<Answer>): void {
  const port = parentPort;
  if (port === null) throw new Error('this program is for a thread');
  port.on('message', (question: Question) => {
    const answered = answer(question);
    port.postMessage(answered.answer, answered.given);
  });
}
