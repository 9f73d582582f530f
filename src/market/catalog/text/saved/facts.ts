import { z } from 'zod';

/**
 * Raise it when the file's layout changes, or what a text becomes in the index: its words, their stems, levels, marks or hashes. A test
 * compares the sources that decide this with the last known ones.
 */
export const FORMAT = 1;

/** An event of the log, with the hash over the log up to it. */
const anchor = z.object({ event: z.string(), hash: z.string() });
export type Anchor = z.infer<typeof anchor>;

const identity = z.object({
  format: z.number(),
  /** Version of the character tables by which texts are taken apart. */
  unicode: z.string(),
  /** Identifier of the database cluster. */
  system: z.string(),
  /** Timeline and database, as in `Moment`. */
  server: z.string(),
});
export type Identity = z.infer<typeof identity>;

const endFacts = z.object({
  lastRevision: z.number(),
  listings: z.number(),
  highest: z.number(),
  words: z.number(),
  stems: z.number(),
  /** The newest event when the file was written. Null if the log was empty. */
  anchor: anchor.nullable(),
});
export type EndFacts = z.infer<typeof endFacts>;

export function encodeFacts(facts: Identity | EndFacts): Uint8Array {
  return Buffer.from(JSON.stringify(facts));
}

export function decodeIdentity(bytes: Uint8Array): Identity {
  return identity.parse(JSON.parse(Buffer.from(bytes).toString()));
}

export function decodeEnd(bytes: Uint8Array): EndFacts {
  return endFacts.parse(JSON.parse(Buffer.from(bytes).toString()));
}

/** Returns the UTF-16 codes of texts, each after its length. */
export function encodeTexts(texts: readonly string[]): Uint8Array {
  const codes = new Uint16Array(texts.reduce((sum, text) => sum + text.length + 1, 0));
  let end = 0;
  for (const text of texts) {
    codes[end] = text.length;
    for (let at = 0; at < text.length; at += 1) codes[end + 1 + at] = text.charCodeAt(at);
    end += text.length + 1;
  }
  return new Uint8Array(codes.buffer);
}

export function decodeTexts(bytes: Uint8Array<ArrayBuffer>): string[] {
  const codes = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >>> 1);
  const texts: string[] = [];
  for (let at = 0; at < codes.length; ) {
    const length = codes[at] as number;
    texts.push(String.fromCharCode(...codes.subarray(at + 1, at + 1 + length)));
    at += length + 1;
  }
  return texts;
}
