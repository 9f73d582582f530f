import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import inter from '@expo-google-fonts/inter/metadata.json' with { type: 'json' };
import { initWasm, Resvg } from '@resvg/resvg-wasm';
import { html } from 'ghtml';

/** As the files call themselves. */
export const FAMILY = inter.family;
export type Weight = 400 | 700;

/** The letters of one weight: Latin with all its marks, Greek and Cyrillic. */
export interface Face {
  /** How far a letter moves the pen, in parts of the size of the letters; undefined: the font has no such letter. */
  advanceOf(letter: string): number | undefined;
}

export type Faces = Record<Weight, Face>;

const { resolve } = createRequire(import.meta.url);
await initWasm(readFile(resolve('@resvg/resvg-wasm/index_bg.wasm')));

/** The files with all letters of both weights; no other font is used. */
export const fontBuffers: Uint8Array[] = await Promise.all(
  ['400Regular/Inter_400Regular', '700Bold/Inter_700Bold'].map((name) =>
    readFile(resolve(`@expo-google-fonts/inter/${name}.ttf`)),
  ),
);

export function openFaces(): Faces {
  return { 400: openFace(400), 700: openFace(700) };
}

/** No font has it: in its place stands the sign for what a font lacks. */
const NO_LETTER = '\u{10ffff}';
const SIZE = 1_000;

/** A letter is measured once, by the program that draws it: by how far it keeps two others apart. */
function openFace(weight: Weight): Face {
  const together = rightOf(draw('HH', weight));
  const advanceOf = (letter: string): number => (rightOf(draw(`H${letter}H`, weight)) - together) / SIZE;
  const missing = String(draw(NO_LETTER, weight));
  const known = new Map([[' ', advanceOf(' ')]]);
  return {
    advanceOf: (letter) => {
      if (known.has(letter)) return known.get(letter);
      const drawn = draw(letter, weight);
      if (drawn === null || String(drawn) === missing) return undefined;
      const advance = advanceOf(letter);
      known.set(letter, advance);
      return advance;
    },
  };
}

/** What it covers: x, y, width and height. */
type Box = [number, number, number, number];

const rightOf = (box: Box | null): number => (box === null ? 0 : box[0] + box[2]);

/** Null: nothing can be seen of it. */
function draw(text: string, weight: Weight): Box | null {
  const line = html`<text font-family="${FAMILY}" font-weight="${weight}" font-size="${SIZE}">${text}</text>`;
  const drawing = new Resvg(`<svg xmlns="http://www.w3.org/2000/svg">${line}</svg>`, { font: { fontBuffers } });
  const box = drawing.getBBox();
  const covered: Box | null = box === undefined ? null : [box.x, box.y, box.width, box.height];
  box?.free();
  drawing.free();
  return covered;
}
