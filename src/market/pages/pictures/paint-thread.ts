import { Resvg } from '@resvg/resvg-wasm';
import { type Answered, answerQuestions } from '../../../platform/worker-thread.ts';
import { composeCard, fontBuffers, openFaces } from './compose-card.ts';
import type { PictureQuestion } from './picture-question.ts';

const faces = openFaces();

/** One picture after the other. The same question is always answered with the same bytes. */
answerQuestions((question: PictureQuestion): Answered<Uint8Array> => {
  const drawing =
    question.kind === 'card'
      ? new Resvg(composeCard(question, faces), { font: { fontBuffers } })
      : new Resvg(question.svg, {
          fitTo: { mode: 'width', value: question.size },
          ...(question.background === null ? {} : { background: question.background }),
        });
  const image = drawing.render();
  // The library's memory is its own; what is sent must be ours.
  const bytes = new Uint8Array(image.asPng());
  image.free();
  drawing.free();
  return { answer: bytes, transfer: [bytes.buffer] };
});
