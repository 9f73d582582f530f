import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import ranges from '@fontsource/inter/unicode.json' with { type: 'json' };
import { type OpenFont, openFont } from './open-font.ts';

export const WEIGHTS = [400, 700] as const;
export type Weight = (typeof WEIGHTS)[number];

/** All letters of one weight, in as many files as the font comes in. */
export interface Face {
  files: readonly Uint8Array[];
  /** In parts of the size of the letters; undefined: no file has that letter. */
  advanceOf(codePoint: number): number | undefined;
  /** A text in pieces, each with the family of a file that has its letters. */
  runsOf(text: string): { family: string; text: string }[];
}

interface Part extends OpenFont {
  family: string;
}

const { resolve } = createRequire(import.meta.url);
/** Latin with all its marks, Greek and Cyrillic. The plain letters come first, as nearly all are found there. */
const SUBSETS = Object.keys(ranges).toReversed();

export function openFaces(): Record<Weight, Face> {
  return { 400: openFace(400), 700: openFace(700) };
}

function openFace(weight: Weight): Face {
  const parts = SUBSETS.map((subset): Part => {
    const file = readFileSync(resolve(`@fontsource/inter/files/inter-${subset}-${weight}-normal.woff`));
    const family = `inter-${subset}-${weight}`;
    return { family, ...openFont(file, family) };
  });
  return {
    files: parts.map(({ bytes }) => bytes),
    advanceOf: (codePoint) => {
      const part = parts.find((one) => one.advanceOf(codePoint) !== undefined);
      return part && (part.advanceOf(codePoint) ?? 0) / part.unitsPerEm;
    },
    runsOf: (text) => splitByPart(text, parts),
  };
}

/** As long as the file has the letters the piece goes on, so that marks stay with what they stand on. */
function splitByPart(text: string, parts: readonly Part[]): { family: string; text: string }[] {
  const runs: { family: string; text: string }[] = [];
  let current: Part | undefined;
  for (const letter of text) {
    const codePoint = letter.codePointAt(0) ?? 0;
    const last = runs.at(-1);
    if (last !== undefined && current?.advanceOf(codePoint) !== undefined) {
      last.text += letter;
      continue;
    }
    current = parts.find((one) => one.advanceOf(codePoint) !== undefined) ?? parts[0];
    runs.push({ family: current?.family ?? '', text: letter });
  }
  return runs;
}
