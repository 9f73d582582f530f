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
