import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { sha256 } from '../../../platform/canonical-json.ts';
import { FONTS, fontFaces } from './fonts.ts';

export interface Asset {
  /** The address. It changes with the content, so that it may be kept for ever. */
  path: string;
  type: string;
  body: Buffer;
}

const HASH_CHARACTERS = 16;

function asset(name: string, extension: string, type: string, body: Buffer): Asset {
  const hash = sha256(body).toString('hex').slice(0, HASH_CHARACTERS);
  return { path: `/assets/${name}-${hash}.${extension}`, type, body };
}

function file(name: string): Buffer {
  return readFileSync(fileURLToPath(new URL(`./files/${name}`, import.meta.url)));
}

const fonts = FONTS.map((font) => ({
  ...font,
  ...asset(font.name, 'woff2', 'font/woff2', readFileSync(font.file)),
}));

const script = (name: string): Asset =>
  asset(name.slice(0, -'.js'.length), 'js', 'text/javascript; charset=utf-8', file(name));

const style = (name: string): Asset =>
  asset(name.slice(0, -'.css'.length), 'css', 'text/css; charset=utf-8', file(name));

/** Read once, when the process starts. */
export const SHELL = {
  fonts,
  style: asset(
    'shell',
    'css',
    'text/css; charset=utf-8',
    // In one, since nothing is painted before it is here.
    Buffer.concat([Buffer.from(`${fontFaces(fonts)}\n`), file('shell.css'), file('storefront.css')]),
  ),
  live: style('live.css'),
  books: style('books.css'),
  wallet: style('wallet.css'),
  walletFlow: script('wallet-flow.js'),
  theme: script('theme.js'),
  ceremony: script('ceremony.js'),
  copying: script('copying.js'),
  consent: script('consent.js'),
  grants: script('grants.js'),
  liveUpdates: script('live-updates.js'),
  suggest: script('suggest.js'),
  mark: asset('mark', 'svg', 'image/svg+xml', file('mark.svg')),
} as const;

const { fonts: ownFonts, ...others } = SHELL;
const all: readonly Asset[] = [...ownFonts, ...Object.values(others)];

export const ASSETS: ReadonlyMap<string, Asset> = new Map(all.map((one) => [one.path, one]));
