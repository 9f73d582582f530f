import { z } from 'zod';

/** Invisible characters: controls, spaces, fillers, and blanks of braille, music and hieroglyphs. */
const INVISIBLE_CLASS = String.raw`\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}\u{13441}\u{13442}`;
export const INVISIBLE = new RegExp(`[${INVISIBLE_CLASS}]`, 'gu');
const NOTHING = new RegExp(String.raw`^[${INVISIBLE_CLASS}\s\p{M}]*$`, 'u');

/** Whether a text is invisible. Combining marks alone count as invisible. */
export function isInvisible(text: string): boolean {
  return NOTHING.test(text);
}

/** Warning shown beside a text that mixes look-alike letters. */
export const LOOK_ALIKE_NOTE = 'letters of two scripts that look alike';
export const lookAlikeNote = z
  .string()
  .optional()
  .describe(`the market’s warning about the text before it: "${LOOK_ALIKE_NOTE}"; absent: no warning`);
