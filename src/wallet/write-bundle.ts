import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { makeBundle } from './make-bundle.ts';

// `npm run bundle`: the script of the page for wallets, written where the other scripts of the pages are.
const target = fileURLToPath(new URL('../market/pages/shell/files/wallet-flow.js', import.meta.url));
writeFileSync(target, await makeBundle());
