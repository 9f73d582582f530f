import { readFileSync } from 'node:fs';

/** Written by `npm run licences`: hashes of the runs of words in common licences. */
const COMMON = read(readFileSync(new URL('./licence-texts.bin', import.meta.url)));

function read(bytes: Buffer): Set<number> {
  const hashes = new Set<number>();
  for (let at = 0; at < bytes.length; at += 4) hashes.add(bytes.readUInt32LE(at));
  return hashes;
}

/** What is left of a text's runs of words without those of common licences: these are no one's own work. */
export function withoutLicences(shingles: Uint32Array): Uint32Array {
  return shingles.filter((hash) => !COMMON.has(hash));
}
