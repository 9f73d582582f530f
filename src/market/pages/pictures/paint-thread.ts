import { Resvg } from '@resvg/resvg-wasm';
import { type Answered, answerQuestions } from '../../../platform/worker-thread.ts';
import { composeCard, fontBuffers, openFaces } from './compose-card.ts';
import type { PictureQuestion } from './picture-question.ts';

const faces = openFaces();

/** Paints one picture at a time. The same question always gives the same bytes. */
answerQuestions((question: PictureQuestion): Answered<Uint8Array> => {
  const drawing =
    question.kind === 'card'
      ? new Resvg(composeCard(question, faces), { font: { fontBuffers } })
      : new Resvg(question.svg, {
          fitTo: { mode: 'width', value: question.size },
          ...(question.background === null ? {} : { background: question.background }),
        });
  const image = drawing.render();
  // Copy the bytes out of the library's memory, because only our own buffer can be transferred.
  const bytes = new Uint8Array(image.asPng());
  image.free();
  drawing.free();
  return { answer: bytes, transfer: [bytes.buffer] };
});
