import { SHELL } from '../shell/assets.ts';
import { hexOfOklch } from './oklch.ts';
import type { MarkColours } from './picture-question.ts';

/** A class of the stylesheet that gives marks their hue. */
const HUES = /^\.([\w-]+) \{\s*--hue: (\d+);(?:\s*--tint: ([\d.]+);)?\s*\}/gm;

interface Hue {
  hue: number;
  tint: number;
}

/** Read from the stylesheet of the pages, so that a picture has the colours of the page it stands for. */
const hues: ReadonlyMap<string, Hue> = new Map(
  [...SHELL.style.body.toString('utf8').matchAll(HUES)].map(([, name = '', hue, tint]) => [
    name,
    { hue: Number(hue), tint: Number(tint ?? 1) },
  ]),
);

/** As the stylesheet colours a large mark on light ground. The name is that of the mark's class. */
export function markColours(name: string): MarkColours {
  const { hue, tint } = hues.get(name) ?? { hue: 157, tint: 1 };
  return {
    ground: hexOfOklch(0.43, 0.08 * tint, hue),
    w: hexOfOklch(0.925, 0.03 * tint, hue),
    a: hexOfOklch(0.56, 0.1 * tint, hue),
    b: hexOfOklch(0.74, 0.085 * tint, hue + 18),
  };
}
