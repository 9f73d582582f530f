import { Refusal } from '../refusal.ts';
import { JsonFault, readJson } from './read-json.ts';

export interface BodyHeaders {
  contentType: string | undefined;
  contentEncoding: string | undefined;
}

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i;

/** The JSON object in a body that is not empty. Throws a Refusal. */
export function readBody(bytes: Uint8Array, headers: BodyHeaders): Record<string, unknown> {
  const encoding = headers.contentEncoding?.trim().toLowerCase() ?? 'identity';
  if (encoding !== 'identity') {
    throw new Refusal('unsupported_media_type', { detail: 'The body has a content encoding; send it plain.' });
  }
  if (!JSON_TYPE.test(headers.contentType?.trim() ?? '')) {
    throw new Refusal('unsupported_media_type', { detail: 'The body must be application/json in UTF-8.' });
  }
  try {
    return readJson(bytes);
  } catch (error) {
    if (error instanceof JsonFault) throw new Refusal('malformed_json', { detail: error.message });
    throw error;
  }
}
