import { writeFileSync } from 'node:fs';
import { makeLicenceTexts } from './make-licence-texts.ts';

// `npm run licences`: writes the texts that the check for near duplicates ignores. After a change all fingerprints that contain any of it
// must be made again, see `RULE`.
writeFileSync(new URL('../../src/market/listings/near/licence-texts.bin', import.meta.url), makeLicenceTexts());
