import { hash, timingSafeEqual } from 'node:crypto';
import { canonicalJson } from './canonical-json.ts';
import type { Clock } from './clock.ts';
import { Refusal } from './refusal.ts';

const MINUTE_MS = 60_000;
const LIFE_MS = 24 * 60 * MINUTE_MS;
const MAC_BYTES = 16;
const TIME_BYTES = 4;
const FORM = /^[A-Za-z0-9_-]+$/;
/** Walks go on with a cursor soon after they got it. Some megabytes. */
const MOST_KNOWN = 8_192;

/**
 * Opaque continuation marks. Every process with the same key reads them, so they hold across processes and restarts. Without the key
 * they cannot be made or changed. `walk` names the collection and its filters and is part of what is signed, not of the text.
 */
export interface Cursors {
  seal(walk: unknown, position: readonly number[]): string;
  /** The position as it was sealed. Refuses what was not made for this walk, or longer than 24 hours ago. */
  open(walk: unknown, cursor: string): number[];
}

interface Opened {
  name: string;
  minute: number;
  position: readonly number[];
}

/** Seals with the first key and opens with any, so that a key can be replaced without breaking the walks under way. */
export function createCursors(keys: readonly [Uint8Array, ...Uint8Array[]], clock: Clock): Cursors {
  const newest = padKey(keys[0]);
  const all = [newest, ...keys.slice(1).map(padKey)];
  const known = createKnown();

  const read = (name: string, cursor: string): Opened => {
    const bytes = Buffer.from(FORM.test(cursor) ? cursor : '', 'base64url');
    const content = bytes.subarray(MAC_BYTES);
    // The text is compared too: base64 has several spellings of the same bytes.
    if (content.length <= TIME_BYTES || bytes.toString('base64url') !== cursor) throw new Refusal('cursor_invalid');
    const given = bytes.subarray(0, MAC_BYTES);
    if (!all.some((key) => timingSafeEqual(macOf(key, name, content), given))) throw new Refusal('cursor_invalid');
    const opened = {
      name,
      minute: content.readUInt32BE(),
      position: JSON.parse(content.subarray(TIME_BYTES).toString()),
    };
    known.add(cursor, opened);
    return opened;
  };

  return {
    seal: (walk, position) => {
      const name = canonicalJson(walk);
      // Whole minutes, upwards: an unchanged page keeps its ETag for a minute, and a cursor never lives less than it should.
      const minute = Math.ceil(clock.now() / MINUTE_MS);
      const text = JSON.stringify(position);
      const content = Buffer.allocUnsafe(TIME_BYTES + text.length);
      content.writeUInt32BE(minute);
      content.write(text, TIME_BYTES, 'latin1');
      const cursor = Buffer.concat([macOf(newest, name, content), content]).toString('base64url');
      known.add(cursor, { name, minute, position: [...position] });
      return cursor;
    },
    open: (walk, cursor) => {
      const name = canonicalJson(walk);
      // One that was made or checked here needs no second check.
      const before = known.get(cursor);
      const { minute, position } = before?.name === name ? before : read(name, cursor);
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

/** What HMAC-SHA-256 (RFC 2104) begins its two hashes with. */
function padKey(key: Uint8Array): PaddedKey {
  const block = Buffer.alloc(BLOCK_BYTES);
  block.set(key.length > BLOCK_BYTES ? hash('sha256', key, 'buffer') : key);
  return { inner: block.map((byte) => byte ^ 0x36), outer: block.map((byte) => byte ^ 0x5c) };
}

/** HMAC out of whole hashes: several times as quick as an object that is fed piece by piece, and every page has one. */
function macOf({ inner, outer }: PaddedKey, name: string, content: Uint8Array): Buffer {
  const digest = hash('sha256', Buffer.concat([inner, Buffer.from(`${name}\n`), content]), 'buffer');
  return hash('sha256', Buffer.concat([outer, digest]), 'buffer').subarray(0, MAC_BYTES);
}

/** In two generations: when the younger is full, the older is forgotten. */
function createKnown() {
  let young = new Map<string, Opened>();
  let old = new Map<string, Opened>();
  return {
    get: (cursor: string): Opened | undefined => young.get(cursor) ?? old.get(cursor),
    add: (cursor: string, opened: Opened): void => {
      young.set(cursor, opened);
      if (young.size < MOST_KNOWN / 2) return;
      old = young;
      young = new Map();
    },
  };
}
