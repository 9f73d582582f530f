import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import interRanges from '@fontsource-variable/inter/unicode.json' with { type: 'json' };
import monoRanges from '@fontsource-variable/jetbrains-mono/unicode.json' with { type: 'json' };
import serifRanges from '@fontsource-variable/source-serif-4/unicode.json' with { type: 'json' };
import { AISLE_WORDS } from '../../../contract/vocabulary.ts';
import { type Asset, createAsset } from '../../../platform/http/assets.ts';

/** Named at the head of the wallet script. */
export const NOTICES_PATH = '/third-party-notices.txt';

/** Written by `npm run bundle`. */
export const THIRD_PARTY_NOTICES = readFileSync(new URL('./files/third-party-notices.txt', import.meta.url), 'utf8');

interface Font {
  /** Name of the asset without its hash. */
  name: string;
  file: string;
  family: string;
  weights: string;
  range: string;
  /** Loaded before the first paint; at most two fonts. */
  preloaded: boolean;
  /** Heights above and below the baseline, as parts of the font size. */
  ascent: number;
  descent: number;
  /**
   * Local fonts that stand in until it is loaded, stretched to its width so that nothing moves; fonts of the same widths share an entry. If
   * none is installed, the font of the system stands in, of any width.
   */
  fallbacks: readonly Fallback[];
}

interface Fallback {
  /** Follows `family` in the font stacks of shell.css. */
  name: string;
  local: readonly string[];
  /** Stretch factor with which English text takes its final width. */
  width: number;
}

const { resolve } = createRequire(import.meta.url);

/** Latin only: the pages are in English, and other letters of merchants fall back to fonts of the system. */
const FONTS: readonly Font[] = [
  {
    name: 'inter',
    file: resolve('@fontsource-variable/inter/files/inter-latin-wght-normal.woff2'),
    family: 'Inter',
    weights: '100 900',
    range: interRanges.latin,
    preloaded: true,
    ascent: 0.968,
    descent: 0.2415,
    fallbacks: [
      { name: 'Fallback', local: ['Arial', 'Liberation Sans', 'Arimo'], width: 1.064 },
      { name: 'DejaVu', local: ['DejaVu Sans'], width: 0.935 },
    ],
  },
  {
    name: 'source-serif',
    file: resolve('@fontsource-variable/source-serif-4/files/source-serif-4-latin-wght-normal.woff2'),
    family: 'Source Serif',
    weights: '200 900',
    range: serifRanges.latin,
    preloaded: true,
    ascent: 1.036,
    descent: 0.335,
    fallbacks: [
      { name: 'Fallback', local: ['Times New Roman', 'Liberation Serif', 'Tinos'], width: 1.158 },
      { name: 'DejaVu', local: ['DejaVu Serif'], width: 0.923 },
    ],
  },
  {
    name: 'jetbrains-mono',
    file: resolve('@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2'),
    family: 'JetBrains Mono',
    weights: '100 800',
    range: monoRanges.latin,
    preloaded: false,
    ascent: 1.02,
    descent: 0.3,
    fallbacks: [
      { name: 'Fallback', local: ['Courier New', 'Liberation Mono', 'Cousine'], width: 1 },
      { name: 'DejaVu', local: ['DejaVu Sans Mono'], width: 0.9966 },
    ],
  },
];

function fontFaces(fonts: readonly (Font & { path: string })[]): string {
  return fonts.map(fontFace).join('\n');
}

function fontFace(font: Font & { path: string }): string {
  const { family, path, weights, range } = font;
  const own = `@font-face { font-family: "${family}"; src: url("${path}") format("woff2"); font-weight: ${weights}; font-display: swap; unicode-range: ${range}; }`;
  return [own, ...font.fallbacks.map((fallback) => fallbackFace(font, fallback))].join('\n');
}

/** Keeps the final line height: the overrides are parts of the size before it is adjusted. */
function fallbackFace({ family, ascent, descent }: Font, { name, local, width }: Fallback): string {
  const sources = local.map((one) => `local("${one}")`).join(', ');
  const lines = `ascent-override: ${percent(ascent / width)}; descent-override: ${percent(descent / width)}; line-gap-override: 0%`;
  return `@font-face { font-family: "${family} ${name}"; src: ${sources}; size-adjust: ${percent(width)}; ${lines}; }`;
}

const percent = (part: number): string => `${Number((part * 100).toFixed(2))}%`;

/** Renders a class for each aisle. It follows the rules of the stylesheet that it overrides. */
function aisleHues(): string {
  const rules = Object.entries(AISLE_WORDS).map(([aisle, words]) => {
    const tint = 'tint' in words ? ` --tint: ${words.tint};` : '';
    return `.${aisle} { --hue: ${words.hue};${tint} }`;
  });
  return rules.join('\n');
}

function readAsset(name: string): Buffer {
  return readFileSync(fileURLToPath(new URL(`./files/${name}`, import.meta.url)));
}

const fonts = FONTS.map((font) => ({
  ...font,
  ...createAsset(font.name, 'woff2', 'font/woff2', readFileSync(font.file)),
}));

const script = (name: string): Asset =>
  createAsset(name.slice(0, -'.js'.length), 'js', 'text/javascript; charset=utf-8', readAsset(name));

const style = (name: string): Asset =>
  createAsset(name.slice(0, -'.css'.length), 'css', 'text/css; charset=utf-8', readAsset(name));

/** Read once, when the process starts. */
export const SHELL = {
  fonts,
  style: createAsset(
    'shell',
    'css',
    'text/css; charset=utf-8',
    // One file, because nothing is painted before it is loaded.
    Buffer.concat([
      Buffer.from(`${fontFaces(fonts)}\n`),
      readAsset('shell.css'),
      readAsset('storefront.css'),
      Buffer.from(`${aisleHues()}\n`),
    ]),
  ),
  live: style('live.css'),
  books: style('books.css'),
  wallet: style('wallet.css'),
  walletFlow: script('wallet-flow.js'),
  theme: script('theme.js'),
  keyPage: script('ceremony.js'),
  copying: script('copying.js'),
  consent: script('consent.js'),
  grants: script('grants.js'),
  liveUpdates: script('live-updates.js'),
  suggest: script('suggest.js'),
  mark: createAsset('mark', 'svg', 'image/svg+xml', readAsset('mark.svg')),
} as const;

const { fonts: ownFonts, ...others } = SHELL;
export const ASSETS: readonly Asset[] = [...ownFonts, ...Object.values(others)];
