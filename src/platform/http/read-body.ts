import type { IncomingHttpHeaders } from 'node:http';
import { Refusal } from '../refusal.ts';
import { JsonFault, readJson } from './read-json.ts';
import { readPairs } from './request-target.ts';

type BodyHeaders = Pick<IncomingHttpHeaders, 'content-type' | 'content-encoding'>;

export const FORM_LIMIT_BYTES = 16_384;
const MOST_FIELDS = 40;
const TYPE = /^(application\/(?:json|x-www-form-urlencoded))[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i;
/** Browsers percent-encode everything else. */
const PLAIN = /^[\x20-\x7e]*$/;

/** The JSON object in a body that is not empty. Throws a Refusal. */
export function readBody(bytes: Uint8Array, headers: BodyHeaders): Record<string, unknown> {
  if (isEncoded(headers)) {
    throw new Refusal('unsupported_media_type', { detail: 'The body has a content encoding; send it plain.' });
  }
  if (typeOf(headers) !== 'application/json') {
    throw new Refusal('unsupported_media_type', { detail: 'The body must be application/json in UTF-8.' });
  }
  try {
    return readJson(bytes);
  } catch (error) {
    if (error instanceof JsonFault) throw new Refusal('malformed_json', { detail: error.message });
    throw error;
  }
}

/** The fields of a form, each of them once. Throws a Refusal that names no value. */
export function readForm(bytes: Uint8Array, headers: BodyHeaders): Record<string, string> {
  if (isEncoded(headers) || typeOf(headers) !== 'application/x-www-form-urlencoded') {
    throw new Refusal('unsupported_media_type', { detail: 'This page takes its own form, as browsers send it.' });
  }
  const fault = (what: string): Refusal => new Refusal('malformed_request', { detail: `The form ${what}.` });
  const text = Buffer.from(bytes).toString('latin1');
  if (!PLAIN.test(text)) throw fault('holds characters that are not encoded');
  return readPairs(text, MOST_FIELDS, (message) => fault(`has a field that ${message}`));
}

function isEncoded({ 'content-encoding': encoding = 'identity' }: BodyHeaders): boolean {
  return encoding.trim().toLowerCase() !== 'identity';
}

/** In lower case; undefined: none that is read here. */
function typeOf({ 'content-type': type = '' }: BodyHeaders): string | undefined {
  return TYPE.exec(type.trim())?.[1]?.toLowerCase();
}
