import { Refusal } from '../refusal.ts';
import type { BodyHeaders } from './read-body.ts';
import { decodeComponent } from './request-target.ts';

export const FORM_LIMIT_BYTES = 16_384;
const MOST_FIELDS = 40;
const NUL = '\u0000';
const FORM_TYPE = /^application\/x-www-form-urlencoded[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i;
/** Browsers percent-encode everything else. */
const PLAIN = /^[\x20-\x7e]*$/;

/** The fields of a form, each of them once. Throws a Refusal that names no value. */
export function readForm(bytes: Uint8Array, headers: BodyHeaders): Record<string, string> {
  const encoding = headers.contentEncoding?.trim().toLowerCase() ?? 'identity';
  if (encoding !== 'identity' || !FORM_TYPE.test(headers.contentType?.trim() ?? '')) {
    throw new Refusal('unsupported_media_type', { detail: 'This page takes its own form, as browsers send it.' });
  }
  const text = Buffer.from(bytes).toString('latin1');
  if (!PLAIN.test(text)) throw fault('holds characters that are not encoded');
  const read: Record<string, string> = Object.create(null);
  if (text === '') return read;
  const pairs = text.split('&');
  if (pairs.length > MOST_FIELDS) throw fault('has too many fields');
  for (const pair of pairs) {
    const mark = pair.indexOf('=');
    const name = decodeComponent(mark < 0 ? pair : pair.slice(0, mark));
    const value = mark < 0 ? '' : decodeComponent(pair.slice(mark + 1));
    if (name === null || value === null) throw fault('has malformed percent-encoding');
    if (name.includes(NUL) || value.includes(NUL)) throw fault('holds a NUL character');
    if (name in read) throw fault('has a field more than once');
    read[name] = value;
  }
  return read;
}

function fault(what: string): Refusal {
  return new Refusal('malformed_request', { detail: `The form ${what}.` });
}
