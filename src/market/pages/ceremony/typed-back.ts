import { timingSafeEqual } from 'node:crypto';
import { sha256 } from '../../../platform/canonical-json.ts';
import type { Market } from '../../context.ts';
import { hashesOfCode } from '../../identity/secrets.ts';
import type { StageIdentity } from '../../identity/stages/stages.ts';
import type { StageOf } from '../../identity/stages/store.ts';
import type { Fault, Form } from './ceremony.ts';

/** The fields in which two codes are typed back. */
const CODE_FIELDS = ['code_first', 'code_second'] as const;
/** Whatever a form may hold of what was shown. */
export const TYPED_BACK_FIELDS: readonly string[] = ['merchant_key', ...CODE_FIELDS];

export interface AskedCode {
  field: (typeof CODE_FIELDS)[number];
  /** As the codes are numbered on the page, from 1. */
  number: number;
}

/** Which two of so many codes are to be typed back: the same two for the whole of a stage. */
export function askedCodes({ session }: StageIdentity, count: number): AskedCode[] {
  const drawn = sha256('codes ', session);
  const first = drawn.readUInt32BE(0) % count;
  const second = (first + 1 + (drawn.readUInt32BE(4) % (count - 1))) % count;
  const numbers = [first, second].sort((a, b) => a - b).map((index) => index + 1);
  return CODE_FIELDS.map((field, index) => ({ field, number: numbers[index] ?? 1 }));
}

/** What of that is not what was shown. The browser's script sees to this before; here it is decided. */
export function faultsOfTypedBack(
  { pepper, config }: Pick<Market, 'pepper' | 'config'>,
  { form, of, identity }: { form: Form; of: StageOf; identity: StageIdentity },
): Fault[] {
  const isOneOf = (hashes: readonly Buffer[], kept: Buffer | undefined): boolean =>
    kept !== undefined && hashes.some((hash) => timingSafeEqual(hash, kept));
  const faults: Fault[] = [];
  const key = pepper.hashes((form['merchant_key'] ?? '').trim()).map(({ hash }) => hash);
  if (!isOneOf(key, of.keyHash)) faults.push({ field: 'merchant_key', message: 'This is not the key that was shown.' });
  if (of.kind === 'rotate') return faults;
  for (const { field, number } of askedCodes(identity, of.codeHashes.length)) {
    const typed = hashesOfCode(pepper, config.keyPrefix, form[field] ?? '');
    if (!isOneOf(typed, of.codeHashes[number - 1])) faults.push({ field, message: `This is not code ${number}.` });
  }
  return faults;
}
