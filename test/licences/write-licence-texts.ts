import { writeFileSync } from 'node:fs';
import { makeLicenceTexts } from './make-licence-texts.ts';

// `npm run licences` writes the texts that the near-duplicate check ignores. All affected fingerprints must be rebuilt afterwards; see
// `RULE`.
writeFileSync(new URL('../../src/market/listings/near/licence-texts.bin', import.meta.url), makeLicenceTexts());
