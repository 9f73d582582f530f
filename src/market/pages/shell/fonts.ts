import { createRequire } from 'node:module';
import interRanges from '@fontsource-variable/inter/unicode.json' with { type: 'json' };
import monoRanges from '@fontsource-variable/jetbrains-mono/unicode.json' with { type: 'json' };
import serifRanges from '@fontsource-variable/source-serif-4/unicode.json' with { type: 'json' };

export interface Font {
  /** Of the asset, without its hash. */
  name: string;
  file: string;
  family: string;
  weights: string;
  range: string;
  /** Before the first paint; no more than two. */
  preloaded: boolean;
  /** What stands in until it is there, stretched so that nothing moves when it comes. */
  fallback: { local: readonly string[]; sizeAdjust: string; ascent: string; descent: string };
}

const { resolve } = createRequire(import.meta.url);

/** Latin alone: the pages are in English, and what else merchants write falls back to the system's fonts. */
export const FONTS: readonly Font[] = [
  {
    name: 'inter',
    file: resolve('@fontsource-variable/inter/files/inter-latin-wght-normal.woff2'),
    family: 'Inter',
    weights: '100 900',
    range: interRanges.latin,
    preloaded: true,
    fallback: {
      local: ['Arial', 'Liberation Sans', 'Arimo'],
      sizeAdjust: '106.4%',
      ascent: '91%',
      descent: '22.7%',
    },
  },
  {
    name: 'source-serif',
    file: resolve('@fontsource-variable/source-serif-4/files/source-serif-4-latin-wght-normal.woff2'),
    family: 'Source Serif',
    weights: '200 900',
    range: serifRanges.latin,
    preloaded: true,
    fallback: {
      local: ['Times New Roman', 'Liberation Serif', 'Tinos'],
      sizeAdjust: '115.8%',
      ascent: '89.5%',
      descent: '28.9%',
    },
  },
  {
    name: 'jetbrains-mono',
    file: resolve('@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2'),
    family: 'JetBrains Mono',
    weights: '100 800',
    range: monoRanges.latin,
    preloaded: false,
    fallback: {
      local: ['Courier New', 'Liberation Mono', 'Cousine'],
      sizeAdjust: '100%',
      ascent: '102%',
      descent: '30%',
    },
  },
];

export function fontFaces(fonts: readonly (Font & { path: string })[]): string {
  return fonts.map(fontFace).join('\n');
}

function fontFace({ family, path, weights, range, fallback }: Font & { path: string }): string {
  const local = fallback.local.map((name) => `local("${name}")`).join(', ');
  return `@font-face { font-family: "${family}"; src: url("${path}") format("woff2"); font-weight: ${weights}; font-display: swap; unicode-range: ${range}; }
@font-face { font-family: "${family} Fallback"; src: ${local}; size-adjust: ${fallback.sizeAdjust}; ascent-override: ${fallback.ascent}; descent-override: ${fallback.descent}; line-gap-override: 0%; }`;
}
