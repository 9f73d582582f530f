import { writeFileSync } from 'node:fs';
import { makeLicenceTexts } from './make-licence-texts.ts';

// `npm run licences`: what the near guard leaves out of account. All shapes that hold any of it have to be made again: see `RULE`.
writeFileSync(new URL('../../src/market/listings/near/licence-texts.bin', import.meta.url), makeLicenceTexts());
