import { hash, timingSafeEqual } from 'node:crypto';
import { canonicalJson } from './canonical-json.ts';
import type { Clock } from './clock.ts';
import { Refusal } from './refusal.ts';

const MINUTE_MS = 60_000;
const LIFE_MS = 24 * 60 * MINUTE_MS;
const MAC_BYTES = 16;
const TIME_BYTES = 4;
const FORM = /^[A-Za-z0-9_-]+$/;
/** Clients usually continue soon after they got a cursor, so this many are cached. Takes some megabytes. */
const CACHE_SIZE = 8_192;

/**
 * Opaque page cursors. All processes with the same key can read them, so they survive restarts. Nobody can forge or change one without the
 * key. `query` names the collection and its filters; it is authenticated but not part of the cursor.
 */
export interface Cursors {
  seal(query: unknown, position: readonly (number | string)[]): string;
  /** Returns the position in the cursor. Rejects cursors of another query or older than 24 hours. */
  open(query: unknown, cursor: string): (number | string)[];
}

interface Opened {
  name: string;
  minute: number;
  position: readonly (number | string)[];
}

/** Seals with the first key and opens with any of them, so that keys can be replaced while clients are paging. */
export function createCursors(keys: readonly [Uint8Array, ...Uint8Array[]], clock: Clock): Cursors {
  const newest = padKey(keys[0]);
  const all = [newest, ...keys.slice(1).map(padKey)];
  const cache = createCache();

  const verify = (name: string, cursor: string): Opened => {
    const bytes = Buffer.from(FORM.test(cursor) ? cursor : '', 'base64url');
    const content = bytes.subarray(MAC_BYTES);
    // Compare the text too, because several base64 spellings decode to the same bytes.
    if (content.length <= TIME_BYTES || bytes.toString('base64url') !== cursor) throw new Refusal('cursor_invalid');
    const mac = bytes.subarray(0, MAC_BYTES);
    if (!all.some((key) => timingSafeEqual(macOf(key, name, content), mac))) throw new Refusal('cursor_invalid');
    const opened = {
      name,
      minute: content.readUInt32BE(),
      position: JSON.parse(content.subarray(TIME_BYTES).toString()),
    };
    cache.add(cursor, opened);
    return opened;
  };

  return {
    seal: (query, position) => {
      const name = canonicalJson(query);
      // Round up to whole minutes: an unchanged page keeps its ETag for a minute, and no cursor expires early.
      const minute = Math.ceil(clock.now() / MINUTE_MS);
      const text = JSON.stringify(position);
      const content = Buffer.allocUnsafe(TIME_BYTES + Buffer.byteLength(text));
      content.writeUInt32BE(minute);
      content.write(text, TIME_BYTES);
      const cursor = Buffer.concat([macOf(newest, name, content), content]).toString('base64url');
      cache.add(cursor, { name, minute, position: [...position] });
      return cursor;
    },
    open: (query, cursor) => {
      const name = canonicalJson(query);
      // A cached cursor was made or verified here, so it needs no second check.
      const cached = cache.get(cursor);
      const { minute, position } = cached?.name === name ? cached : verify(name, cursor);
      if (clock.now() > minute * MINUTE_MS + LIFE_MS) throw new Refusal('cursor_expired');
      return [...position];
    },
  };
}

interface PaddedKey {
  inner: Uint8Array;
  outer: Uint8Array;
}

const BLOCK_BYTES = 64;

/** Returns the inner and outer key blocks of HMAC-SHA-256 (RFC 2104). */
function padKey(key: Uint8Array): PaddedKey {
  const block = Buffer.alloc(BLOCK_BYTES);
  block.set(key.length > BLOCK_BYTES ? hash('sha256', key, 'buffer') : key);
  return { inner: block.map((byte) => byte ^ 0x36), outer: block.map((byte) => byte ^ 0x5c) };
}

/** Computes HMAC from one-shot hashes, which is several times faster than a streaming object. Every page needs one. */
function macOf({ inner, outer }: PaddedKey, name: string, content: Uint8Array): Buffer {
  const digest = hash('sha256', Buffer.concat([inner, Buffer.from(`${name}\n`), content]), 'buffer');
  return hash('sha256', Buffer.concat([outer, digest]), 'buffer').subarray(0, MAC_BYTES);
}

/** Keeps two generations. When the newer one is full, the older one is dropped. */
function createCache() {
  let young = new Map<string, Opened>();
  let old = new Map<string, Opened>();
  return {
    get: (cursor: string): Opened | undefined => young.get(cursor) ?? old.get(cursor),
    add: (cursor: string, opened: Opened): void => {
      young.set(cursor, opened);
      if (young.size < CACHE_SIZE / 2) return;
      old = young;
      young = new Map();
    },
  };
}
