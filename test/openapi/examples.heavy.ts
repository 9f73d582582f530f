import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { endpoints } from '../../src/contract/index.ts';
import { type RecordedExamples, shapeOf } from './example-recorder.ts';
import { recordExamples } from './record-examples.ts';

const file = new URL('../../src/market/pages/documents/openapi-examples.json', import.meta.url);

/** `npm run examples` writes the examples. A plain run compares them with what a market answers now. */
it('the examples of the reference are answers of a market, of the shape that it gives today; otherwise: npm run examples', async () => {
  const made = await recordExamples();
  expect(Object.keys(made)).toEqual([...Object.keys(endpoints), 'streamEvents']);
  if (process.env['OPENAISLE_EXAMPLES'] === 'write') writeFileSync(file, `${JSON.stringify(made, null, 2)}\n`);
  const written = JSON.parse(readFileSync(file, 'utf8')) as RecordedExamples;
  expect(shapeOf(written)).toEqual(shapeOf(made));
}, 180_000);
