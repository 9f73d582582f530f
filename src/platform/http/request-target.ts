import { Refusal } from '../refusal.ts';

export interface Target {
  path: string;
  /** Without the question mark; empty when there is none. */
  query: string;
  /** Path and query as sent. */
  whole: string;
}

/** The address of a request as sent; the absolute form that proxies may send is cut to its path. */
export function splitTarget(url: string): Target {
  const whole = url.startsWith('/') ? url : url.replace(/^[a-z]+:\/\/[^/?]*/i, '') || '/';
  const mark = whole.indexOf('?');
  return mark < 0
    ? { path: whole, query: '', whole }
    : { path: whole.slice(0, mark), query: whole.slice(mark + 1), whole };
}

/** Text after percent-decoding (and `+` for a space), null when it is malformed. */
export function decodeComponent(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

const MAX_PARAMETERS = 100;
const NUL = '\u0000';

/** Names and values as forms and queries spell them, each name once. What is wrong is made an error of by `refuse`. */
export function readPairs(
  text: string,
  most: number,
  refuse: (message: string, name: string) => Refusal,
): Record<string, string> {
  const read: Record<string, string> = Object.create(null);
  if (text === '') return read;
  const pairs = text.split('&');
  if (pairs.length > most) throw refuse(`is one of more than ${most}`, '');
  for (const pair of pairs) {
    const mark = pair.indexOf('=');
    const name = decodeComponent(mark < 0 ? pair : pair.slice(0, mark));
    const value = mark < 0 ? '' : decodeComponent(pair.slice(mark + 1));
    if (name === null || value === null) throw refuse('has malformed percent-encoding', name ?? '');
    if (name.includes(NUL) || value.includes(NUL)) throw refuse('holds a NUL character', name);
    if (name in read) throw refuse('is given more than once', name);
    read[name] = value;
  }
  return read;
}

/** Each parameter once, as text; what they may be is the schema's to say. */
export function readQuery(query: string): Record<string, string> {
  return readPairs(query, MAX_PARAMETERS, (message, name) => {
    const path = name.slice(0, 100);
    const detail = path === '' ? `The query has a parameter that ${message}.` : `The parameter ${path} ${message}.`;
    return new Refusal('invalid_query', { detail, errors: [{ path, message }] });
  });
}

/** The cookies of a request. A name that occurs twice is left out: one of the two is not ours, and the server cannot tell which. */
export function readCookies(header: string | undefined): Record<string, string> {
  const read: Record<string, string> = Object.create(null);
  if (header === undefined) return read;
  const seen = new Set<string>();
  for (const pair of header.split(';')) {
    const mark = pair.indexOf('=');
    if (mark < 0) continue;
    const name = pair.slice(0, mark).trim();
    if (seen.has(name)) delete read[name];
    else read[name] = pair.slice(mark + 1).trim();
    seen.add(name);
  }
  return read;
}
