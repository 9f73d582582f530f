/** Works in Node and in browsers, which have no Buffer. */
export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Accepts both alphabets, with or without padding, and ignores other characters. */
export function fromBase64(text: string): Uint8Array {
  const [digits = ''] = text.replaceAll('-', '+').replaceAll('_', '/').split('=');
  const plain = digits.replaceAll(/[^A-Za-z0-9+/]/g, '');
  // A single trailing digit can't encode a byte.
  const whole = plain.length % 4 === 1 ? plain.slice(0, -1) : plain;
  return Uint8Array.from(atob(whole), (letter) => letter.charCodeAt(0));
}
