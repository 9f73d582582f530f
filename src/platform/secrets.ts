import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { base62 } from '../contract/base62.ts';
import type { Random } from './random.ts';

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const WEIGHTS = [1, 3, 5, 7] as const;

const KEY_ENTROPY_BYTES = 32;
const KEY_BODY_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const GROUP_LENGTH = 5;
const RECOVERY_GROUPS = 5;
const PAIRING_GROUPS = 3;

/** Number of characters after `<prefix>_<kind>_`. Fixed, so that a search knows where a secret ends. */
const LENGTHS = {
  sk: KEY_BODY_LENGTH + CHECKSUM_LENGTH,
  dt: KEY_BODY_LENGTH + CHECKSUM_LENGTH,
  dl: KEY_BODY_LENGTH + CHECKSUM_LENGTH,
  rc: RECOVERY_GROUPS * (GROUP_LENGTH + 1) - 1,
  pc: PAIRING_GROUPS * (GROUP_LENGTH + 1) - 1,
} as const;
export type SecretKind = keyof typeof LENGTHS;

function longestSecret(prefix: string): number {
  return prefix.length + '_sk_'.length + Math.max(...Object.values(LENGTHS));
}

function shortestSecret(prefix: string): number {
  return prefix.length + '_sk_'.length + Math.min(...Object.values(LENGTHS));
}

/** The prefix contains no underscore, because it precedes `_sk_`. */
export const SECRET_PREFIX = /^[a-z][a-z0-9]{1,15}$/;

const BASE62_ONLY = /^[0-9A-Za-z]+$/;

function checksumOf(text: string): string {
  return base62(BigInt(crc32(text)), CHECKSUM_LENGTH);
}

export function makeMerchantKey(random: Random, prefix: string): string {
  return makeWord(random, prefix, 'sk');
}

/** Makes a delivery token with 256 random bits, as clients also do. */
export function makeDeliveryToken(random: Random, prefix: string): string {
  return makeWord(random, prefix, 'dt');
}

/** Makes a download token with 256 random bits. */
export function makeDownloadToken(random: Random, prefix: string): string {
  return makeWord(random, prefix, 'dl');
}

function makeWord(random: Random, prefix: string, kind: 'sk' | 'dt' | 'dl'): string {
  const entropy = BigInt(`0x${random.bytes(KEY_ENTROPY_BYTES).toString('hex')}`);
  const text = `${prefix}_${kind}_${base62(entropy, KEY_BODY_LENGTH)}`;
  return text + checksumOf(text);
}

export function makeRecoveryCode(random: Random, prefix: string): string {
  return `${prefix}_rc_${makeGroups(random, RECOVERY_GROUPS)}`;
}

export function makePairingCode(random: Random, prefix: string): string {
  return `${prefix}_pc_${makeGroups(random, PAIRING_GROUPS)}`;
}

function makeGroups(random: Random, count: number): string {
  return Array.from({ length: count }, (_, index) => {
    // 256 is a multiple of 32, so the low five bits of a random byte are uniform.
    const values = [...random.bytes(WEIGHTS.length)].map((byte) => byte & 31);
    return [...values, checkValue(values, index + 1)].map((value) => CROCKFORD.charAt(value)).join('');
  }).join('-');
}

function checkValue(values: readonly number[], group: number): number {
  return WEIGHTS.reduce((sum, weight, place) => sum + weight * (values[place] ?? 0), group) % CROCKFORD.length;
}

export function isMerchantKey(text: string, prefix: string): boolean {
  return isWhole(text, prefix, 'sk');
}

export function isDeliveryToken(text: string, prefix: string): boolean {
  return isWhole(text, prefix, 'dt');
}

export function isDownloadToken(text: string, prefix: string): boolean {
  return isWhole(text, prefix, 'dl');
}

/** Accepts any case, because people type codes. */
export function isRecoveryCode(text: string, prefix: string): boolean {
  return isWhole(text, prefix, 'rc');
}

export function isPairingCode(text: string, prefix: string): boolean {
  return isWhole(text, prefix, 'pc');
}

function isWhole(text: string, prefix: string, kind: SecretKind): boolean {
  return text.length === prefix.length + 4 + LENGTHS[kind] && secretAt(text, 0, prefix, kind);
}

/** Returns true if a secret with a valid checksum begins at that position. Checks a fixed number of characters. */
function secretAt(text: string, at: number, prefix: string, kind: SecretKind): boolean {
  const bodyAt = at + prefix.length + 4;
  const end = bodyAt + LENGTHS[kind];
  if (end > text.length) return false;
  const marker = text.slice(at, bodyAt);
  if (kind === 'rc' || kind === 'pc') {
    return marker.toLowerCase() === `${prefix}_${kind}_` && areGroups(text.slice(bodyAt, end).toUpperCase());
  }
  const checked = text.slice(at, end - CHECKSUM_LENGTH);
  return (
    marker === `${prefix}_${kind}_` &&
    BASE62_ONLY.test(text.slice(bodyAt, end)) &&
    checksumOf(checked) === text.slice(end - CHECKSUM_LENGTH, end)
  );
}

function areGroups(text: string): boolean {
  return text.split('-').every((group, index) => {
    const values = [...group].map((character) => CROCKFORD.indexOf(character));
    if (values.length !== GROUP_LENGTH || values.includes(-1)) return false;
    return values[GROUP_LENGTH - 1] === checkValue(values, index + 1);
  });
}

/** Returns the one spelling under which a code is hashed. */
export function canonicalCode(text: string, prefix: string): string {
  return (
    prefix + text.slice(prefix.length, prefix.length + 4).toLowerCase() + text.slice(prefix.length + 4).toUpperCase()
  );
}

/** Returns a regular expression for a secret, which the official facts publish. */
export function secretPattern(kind: SecretKind, prefix: string): string {
  if (kind === 'sk' || kind === 'dt' || kind === 'dl') return `^${prefix}_${kind}_[0-9A-Za-z]{${LENGTHS[kind]}}$`;
  const groups = kind === 'rc' ? RECOVERY_GROUPS : PAIRING_GROUPS;
  return `^${prefix}_${kind}_[${CROCKFORD}]{${GROUP_LENGTH}}(-[${CROCKFORD}]{${GROUP_LENGTH}}){${groups - 1}}$`;
}

/** Matched after whitespace is removed. */
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** KELVIN SIGN, the only non-ASCII character that NFC turns into a character of secrets. */
const KELVIN = '\u212a';

/** Applies NFC where it could complete a secret, because text is stored normalized. Keeps all positions. */
function normalizeText(text: string): string {
  return text.includes(KELVIN) ? text.replaceAll(KELVIN, 'K') : text;
}

export const SECRET_MASK = '[secret]';

export interface SecretGuard {
  /** Shorter texts contain no secret, decoded or not, so they can be skipped. */
  shortest: number;
  /** Bytes of the longest secret. Who searches a stream piece by piece keeps one byte less of the piece before. */
  longest: number;
  /**
   * Returns true if the bytes of a file contain a valid secret as they are. Much faster than `inText`. Finds codes whose prefix is in lower
   * case, in capitals or capitalized, as people type them.
   */
  inBytes(bytes: Buffer): boolean;
  /**
   * Returns true if the text contains a valid secret after NFC, or is base64 of one once whitespace is removed. `own` is the kind allowed
   * here.
   */
  inText(text: string, own?: SecretKind): boolean;
  /** Checks every string and field name of a JSON value. Top-level members named in `except` may hold their own kind of secret. */
  inValue(value: unknown, except?: readonly string[]): boolean;
  /** Replaces each secret with SECRET_MASK, or the whole text if it is base64 of a secret. */
  maskText(text: string): string;
  /** Masks each string and field name of a JSON value, except strings of members named in `kept`, at any depth. */
  maskValue(value: unknown, kept?: readonly string[]): unknown;
}

/** Matches what follows the prefix of every secret. Bytes can repeat a prefix many thousand times. */
const KIND_AHEAD = /^(?:sk|dt|dl|rc|pc)_/i;

/** The only kind of secret that a field of this name may hold, where the endpoint allows it. */
const OWN_KIND: Readonly<Record<string, SecretKind>> = { merchant_key: 'sk', recovery_code: 'rc', pairing_code: 'pc' };

/** Finds merchant keys, recovery codes, pairing codes, delivery tokens and download tokens. No text may contain one outside of its own field or header. */
export function createSecretGuard(prefixes: readonly string[]): SecretGuard {
  const { isIn, spansIn } = createSearch(prefixes);
  const shortest = Math.min(...prefixes.map(shortestSecret));
  const longest = Math.max(...prefixes.map(longestSecret));
  const beginnings = prefixes.flatMap((prefix) =>
    [prefix, prefix.toUpperCase(), prefix.charAt(0).toUpperCase() + prefix.slice(1)].map((word) => `${word}_`),
  );

  const inBytes = (bytes: Buffer): boolean =>
    beginnings.some((beginning) => {
      for (let at = bytes.indexOf(beginning); at >= 0; at = bytes.indexOf(beginning, at + beginning.length)) {
        const kind = bytes.toString('latin1', at + beginning.length, at + beginning.length + 3);
        if (KIND_AHEAD.test(kind) && isIn(bytes.toString('latin1', at, at + longest))) return true;
      }
      return false;
    });

  /** Returns true if the whole text is base64 of a secret. Ignores whitespace, because people and mail programs break lines. */
  const isEncodedIn = (stored: string, own?: SecretKind): boolean => {
    const bare = stored.replaceAll(/\s+/g, '');
    return BASE64.test(bare) && isIn(Buffer.from(bare, 'base64').toString('latin1'), own);
  };

  const inText = (text: string, own?: SecretKind): boolean => {
    if (text.length < shortest) return false;
    const stored = normalizeText(text);
    return isIn(stored, own) || isEncodedIn(stored, own);
  };

  const inValue = (value: unknown, except: readonly string[] = []): boolean => {
    if (typeof value === 'string') return inText(value);
    if (Array.isArray(value)) return value.some((item) => inValue(item));
    if (typeof value !== 'object' || value === null) return false;
    return Object.entries(value).some(([name, member]) => {
      if (inText(name)) return true;
      if (!except.includes(name) || typeof member !== 'string') return inValue(member);
      const own = OWN_KIND[name];
      return own !== undefined && inText(member, own);
    });
  };

  const maskText = (text: string): string => {
    if (!inText(text)) return text;
    const stored = normalizeText(text);
    // Check this before single spans: after one plain secret the rest may be base64 of another.
    if (isEncodedIn(stored)) return SECRET_MASK;
    return maskSpans(
      text,
      [...spansIn(stored)].sort(([one], [other]) => one - other),
    );
  };

  const maskValue = (value: unknown, kept: readonly string[] = []): unknown => {
    if (typeof value === 'string') return maskText(value);
    if (Array.isArray(value)) return value.map((item) => maskValue(item, kept));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        maskText(name),
        kept.includes(name) && typeof member === 'string' ? member : maskValue(member, kept),
      ]),
    );
  };

  return { shortest, longest, inBytes, inText, inValue, maskText, maskValue };
}

/** Index of the first character and of the one after the last. */
type Span = readonly [from: number, end: number];

/** Searches a text for secrets of all kinds but `own`. */
function createSearch(prefixes: readonly string[]) {
  const markers = prefixes.map((prefix) => {
    if (!SECRET_PREFIX.test(prefix)) throw new TypeError('a secret prefix is 2 to 16 of a-z and 0-9');
    // Ignores case, because codes do; secretAt is exact about keys. The lookahead rejects most markers cheaply.
    const word = `(sk|dt|dl)_(?=[0-9a-z]{${LENGTHS.sk}})`;
    const groups = `(rc|pc)_(?=[0-9a-z]{${GROUP_LENGTH}}-)`;
    return { prefix, marker: new RegExp(`${prefix}_(?:${word}|${groups})`, 'gi') };
  });

  function* spansIn(text: string, own?: SecretKind): Iterable<Span> {
    for (const { prefix, marker } of markers) {
      for (const match of text.matchAll(marker)) {
        const kind = (match[1] ?? match[2] ?? '').toLowerCase() as SecretKind;
        if (kind === own || !secretAt(text, match.index, prefix, kind)) continue;
        yield [match.index, match.index + prefix.length + 4 + LENGTHS[kind]];
      }
    }
  }

  const isIn = (text: string, own?: SecretKind): boolean => {
    // Fast path, because every request's headers are checked here.
    if (!text.includes('_')) return false;
    for (const _ of spansIn(text, own)) return true;
    return false;
  };

  return { isIn, spansIn };
}

/** Masks overlapping spans together, so that no part of them is left. Expects spans sorted by their start. */
function maskSpans(text: string, spans: readonly Span[]): string {
  let masked = '';
  let at = 0;
  for (const [from, end] of spans) {
    if (from >= at) masked += text.slice(at, from) + SECRET_MASK;
    at = Math.max(at, end);
  }
  return masked + text.slice(at);
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const FORM = /^[A-Za-z0-9_-]+$/;

/** Encrypts with AES-256-GCM to base64url; keys have 32 bytes. The nonce is derived from the text, so two texts never share a nonce. */
export function sealText(key: Uint8Array, text: string): string {
  const nonce = createHmac('sha256', key).update(text, 'utf8').digest().subarray(0, NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString('base64url');
}

/** Decrypts a text sealed with one of the keys. Null for anything else. */
export function openSealed(keys: readonly Uint8Array[], sealed: string): string | null {
  const bytes = Buffer.from(FORM.test(sealed) ? sealed : '', 'base64url');
  if (bytes.length <= NONCE_BYTES + TAG_BYTES) return null;
  const content = bytes.subarray(NONCE_BYTES, -TAG_BYTES);
  for (const key of keys) {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      return Buffer.concat([decipher.update(content), decipher.final()]).toString('utf8');
    } catch {
      // The text was sealed with another key, or not sealed at all.
    }
  }
  return null;
}
