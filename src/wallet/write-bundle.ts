import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { makeBundle } from './make-bundle.ts';
import { makeNotices } from './make-notices.ts';

// `npm run bundle`: the script of the page for wallets, and the licences of what is served, where the pages have their files.
const file = (name: string): string => fileURLToPath(new URL(`../market/pages/shell/files/${name}`, import.meta.url));

const { code, modules } = await makeBundle();
writeFileSync(file('wallet-flow.js'), code);
writeFileSync(file('third-party-notices.txt'), makeNotices(modules));
