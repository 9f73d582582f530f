import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

/** Third-party fonts that are served, as files and as outlines in pictures. */
const SERVED_FONTS = [
  '@expo-google-fonts/inter',
  '@fontsource-variable/inter',
  '@fontsource-variable/jetbrains-mono',
  '@fontsource-variable/source-serif-4',
];
/** Package that draws the pictures. It has no licence text, so the notice says where to find it. */
const RENDERER_PACKAGES = ['@resvg/resvg-wasm'];

const LICENCE_FILE = /^(?:licen[cs]e|copying|notice)(?:[._-].*)?$/i;

const INTRODUCTION = `Third-party notices

Openaisle itself is under the Apache License 2.0. What it serves contains works of others, under the licences below:
the wallet script (packages it is made with), the fonts, and the program that draws pictures.
Written by \`npm run bundle\`.
`;

interface Manifest {
  name: string;
  version: string;
  license: string;
  repository?: string | { url: string };
  homepage?: string;
}

/** Collects the licences of the packages in the script, and of everything else that is served. */
export function makeNotices(modules: readonly string[]): string {
  const bundled = modules.filter((path) => path.includes('/node_modules/')).map(packageFolder);
  const others = [...SERVED_FONTS, ...RENDERER_PACKAGES].map((name) =>
    fileURLToPath(new URL(`../../node_modules/${name}`, import.meta.url)),
  );
  const notices = [...new Set([...bundled, ...others])].map(noticeOf).sort();
  return `${[INTRODUCTION, ...notices].join(`\n${'-'.repeat(100)}\n\n`).trimEnd()}\n`;
}

/** Finds the nearest parent folder whose manifest has a name. Some packages contain nameless manifests that only set the module type. */
function packageFolder(path: string): string {
  const folder = dirname(path);
  const manifest = join(folder, 'package.json');
  const isPackage = existsSync(manifest) && readManifest(folder).name !== undefined;
  return isPackage ? folder : packageFolder(folder);
}

function noticeOf(folder: string): string {
  const { name, version, license, repository, homepage } = readManifest(folder) as Manifest;
  const source = homepage ?? (typeof repository === 'string' ? repository : repository?.url) ?? '';
  const head = `${name} ${version}\nLicence: ${license}\nSource: ${source}\n`;
  const files = readdirSync(folder).filter((file) => LICENCE_FILE.test(file));
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8'));
  if (texts.length > 0) return [head, ...texts.map(normalizeText)].join('\n');
  const licenceText = LICENCE_TEXTS[license];
  if (licenceText === undefined) throw new Error(`${name} brings no licence file: say where its licence is`);
  return `${head}\n${licenceText}\n`;
}

const LICENCE_TEXTS: Readonly<Record<string, string>> = {
  'MPL-2.0': 'The text of the Mozilla Public License 2.0 is at https://www.mozilla.org/en-US/MPL/2.0/',
};

function readManifest(folder: string): Partial<Manifest> {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Partial<Manifest>;
}

function normalizeText(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').replace(/^\uFEFF/, '');
  return `${lines.replaceAll(/[ \t]+$/gm, '').trim()}\n`;
}

/** Header comment of the script, which names the path of its licences. */
const SCRIPT_HEADER = '/*! Openaisle, with code of others: /third-party-notices.txt */';

interface Bundle {
  code: string;
  /** Source files of the bundle. */
  modules: readonly string[];
}

/** Builds the browser script. The same sources and packages give the same bytes. */
export async function makeBundle(): Promise<Bundle> {
  const bundle = await rolldown({
    input: fileURLToPath(new URL('./main.ts', import.meta.url)),
    platform: 'browser',
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    transform: { target: 'es2022' },
    // Drops the endpoints that the page does not call. The contract only declares, so importing it does nothing.
    treeshake: { moduleSideEffects: [{ test: /\/src\/contract\//, sideEffects: false }] },
  });
  try {
    const { output } = await bundle.generate({ format: 'iife', minify: true, comments: { legal: true } });
    return { code: `${SCRIPT_HEADER}\n${output[0].code}`, modules: Object.keys(output[0].modules) };
  } finally {
    await bundle.close();
  }
}

// `npm run bundle` writes the script and the notices to the files that the pages serve.
const file = (name: string): string => fileURLToPath(new URL(`../market/pages/shell/files/${name}`, import.meta.url));

// Writes nothing when a test imports this file.
if (import.meta.main) {
  const { code, modules } = await makeBundle();
  writeFileSync(file('wallet-flow.js'), code);
  writeFileSync(file('third-party-notices.txt'), makeNotices(modules));
}
