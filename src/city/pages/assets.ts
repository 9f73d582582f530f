import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { sha256 } from '../../platform/canonical-json.ts';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import { Refusal } from '../../platform/refusal.ts';
import { drawEmblem } from '../things/draw-emblem.ts';

interface Asset {
  /** The address. It changes with the content, so that it may be kept for ever. */
  path: string;
  type: string;
  body: Buffer;
}

const HASH_CHARACTERS = 16;

function asset(name: string, extension: string, type: string, body: Buffer): Asset {
  const hash = sha256(body).toString('hex').slice(0, HASH_CHARACTERS);
  return { path: `/assets/${name}-${hash}.${extension}`, type, body };
}

/** Read once, when the process starts. No fonts are sent: the system's stand in for those of the market. */
export const STYLE = asset(
  'city',
  'css',
  'text/css; charset=utf-8',
  readFileSync(fileURLToPath(new URL('./files/city.css', import.meta.url))),
);
/** What things have the city has too. */
export const ICON = asset('icon', 'svg', 'image/svg+xml', Buffer.from(drawEmblem({ id: 0n, name: 'Openaisle city' })));

const ASSETS = new Map([STYLE, ICON].map((one) => [one.path, one]));

export function answerAsset(name: string): PageAnswer {
  const found = ASSETS.get(`/assets/${name}`);
  if (found === undefined) throw new Refusal('not_found', { detail: 'There is no such file.' });
  return { status: 200, headers: { 'content-type': found.type }, body: found.body };
}
