import { readFileSync } from 'node:fs';

/** The wallet script names it at its head. */
export const NOTICES_PATH = '/third-party-notices.txt';

/** Written by `npm run bundle`. */
export const THIRD_PARTY_NOTICES = readFileSync(new URL('./files/third-party-notices.txt', import.meta.url), 'utf8');
