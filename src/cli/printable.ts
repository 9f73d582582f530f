import { styleText } from 'node:util';

/** What looks like a key or a code of any market, whole or cut off: the prefix is the market's own choice (W3). */
const SECRET_SHAPE = /[a-z][a-z0-9]{1,15}_(?:sk_[0-9a-z]{16,}|(?:rc|pc)_[0-9a-z]{5}-[0-9a-z]{5}[0-9a-z-]*)/gi;
/** Characters that move the cursor, colour text or turn its direction; what a market says is printed without them. */
const UNPRINTABLE = /(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/gu;

export function holdsSecret(text: string): boolean {
  return text.search(SECRET_SHAPE) !== -1;
}

/** For everything that is printed but what --reveal asks for. */
export function hideSecrets(text: string): string {
  return text.replace(UNPRINTABLE, '').replace(SECRET_SHAPE, '[secret]');
}

/** One line of another's text, cut to so many characters. */
export function oneLine(text: string, longest = 100): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  const characters = [...line];
  return characters.length <= longest ? line : `${characters.slice(0, longest - 1).join('')}…`;
}

const STYLES = [
  [/^(?:refused|outcome unknown):/, 'red'],
  [/^(?:not done|warning):/, 'yellow'],
  [/^next:/, 'cyan'],
  [/^[A-Z][A-Za-z ]+$/, 'bold'],
] as const;

/** The first word coloured by what it says. Only for a line that was cleaned, and only for a terminal. */
export function coloured(line: string): string {
  for (const [start, style] of STYLES) {
    const found = start.exec(line)?.[0];
    // Whether it is a terminal is decided where it is printed.
    if (found !== undefined) return styleText(style, found, { validateStream: false }) + line.slice(found.length);
  }
  return line;
}
