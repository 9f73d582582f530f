import { z } from 'zod';

/** Characters without a look of their own: controls, spaces, fillers, and the blanks of braille, of music and of hieroglyphs. */
const UNSEEN_CLASS = String.raw`\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}\u{13441}\u{13442}`;
export const UNSEEN = new RegExp(`[${UNSEEN_CLASS}]`, 'gu');
const NOTHING = new RegExp(String.raw`^[${UNSEEN_CLASS}\s\p{M}]*$`, 'u');

/** Whether nothing of the text can be seen. Marks alone stand on nothing, and count as nothing. */
export function showsNothing(text: string): boolean {
  return NOTHING.test(text);
}

/** The note beside a text in which look-alike letters are mixed. */
export const LOOK_ALIKE_NOTE = 'letters of two scripts that look alike';
/** The field of that note, beside a text that is the name of something. */
export const lookAlikeNote = z
  .string()
  .optional()
  .describe(`the market’s own words on the text before it: "${LOOK_ALIKE_NOTE}"; absent: nothing to note`);
