import { answerQuestions } from '../../src/platform/worker-thread.ts';

/** Messages to the thread's program. */
export type ThreadQuestion = { add: Uint8Array<ArrayBuffer> } | { do: 'fail' | 'exit' | 'count variables' };

answerQuestions<ThreadQuestion, Uint8Array | number>((question) => {
  if ('add' in question) {
    const sums = question.add.map((byte) => byte + 1);
    return { answer: sums, transfer: [sums.buffer] };
  }
  if (question.do === 'fail') throw new RangeError('cannot do that');
  if (question.do === 'exit') process.exit(3);
  return { answer: Object.keys(process.env).length, transfer: [] };
});
