import { createHmac, timingSafeEqual } from 'node:crypto';
import { canonicalJson } from './canonical-json.ts';
import type { Clock } from './clock.ts';
import { Refusal } from './refusal.ts';

const MINUTE_MS = 60_000;
const LIFE_MS = 24 * 60 * MINUTE_MS;
const MAC_BYTES = 16;
const TIME_BYTES = 4;
const FORM = /^[A-Za-z0-9_-]+$/;

/**
 * Opaque continuation marks. Anybody with the same key reads them, so they hold across processes and restarts; nobody without it
 * can make or change one. `walk` names the collection and its filters and is part of what is signed, not of the text.
 */
export interface Cursors {
  seal(walk: unknown, position: readonly number[]): string;
  /** The position as it was sealed. Refuses what was not made for this walk, or longer than 24 hours ago. */
  open(walk: unknown, cursor: string): number[];
}

/** Seals with the first key and opens with any, so that a key can be replaced without breaking the walks under way. */
export function createCursors(keys: readonly [Uint8Array, ...Uint8Array[]], clock: Clock): Cursors {
  const mac = (key: Uint8Array, walk: unknown, content: Uint8Array): Buffer =>
    createHmac('sha256', key).update(canonicalJson(walk)).update('\n').update(content).digest().subarray(0, MAC_BYTES);

  return {
    seal: (walk, position) => {
      // Whole minutes, upwards: an unchanged page keeps its ETag for a minute, and a cursor never lives less than it should.
      const minute = Buffer.alloc(TIME_BYTES);
      minute.writeUInt32BE(Math.ceil(clock.now() / MINUTE_MS));
      const content = Buffer.concat([minute, Buffer.from(JSON.stringify(position))]);
      return Buffer.concat([mac(keys[0], walk, content), content]).toString('base64url');
    },
    open: (walk, cursor) => {
      const bytes = Buffer.from(FORM.test(cursor) ? cursor : '', 'base64url');
      const content = bytes.subarray(MAC_BYTES);
      // The text is compared too: base64 has several spellings of the same bytes.
      if (content.length <= TIME_BYTES || bytes.toString('base64url') !== cursor) throw new Refusal('cursor_invalid');
      const given = bytes.subarray(0, MAC_BYTES);
      if (!keys.some((key) => timingSafeEqual(mac(key, walk, content), given))) throw new Refusal('cursor_invalid');
      if (clock.now() > content.readUInt32BE() * MINUTE_MS + LIFE_MS) throw new Refusal('cursor_expired');
      return JSON.parse(content.subarray(TIME_BYTES).toString());
    },
  };
}
