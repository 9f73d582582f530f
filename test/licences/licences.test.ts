import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { makeLicenceTexts } from './make-licence-texts.ts';

test('what the guard leaves out of account is made of the licences that are named (npm run licences)', () => {
  const kept = readFileSync(new URL('../../src/market/listings/near/licence-texts.bin', import.meta.url));
  expect(kept.equals(makeLicenceTexts())).toBe(true);
});
