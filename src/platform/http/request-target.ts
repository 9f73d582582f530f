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

/** Each parameter once, as text; what they may be is the schema's to say. */
export function readQuery(query: string): Record<string, string> {
  const read: Record<string, string> = Object.create(null);
  if (query === '') return read;
  const pairs = query.split('&');
  if (pairs.length > MAX_PARAMETERS) throw refuse('', 'has too many parameters');
  for (const pair of pairs) {
    const mark = pair.indexOf('=');
    const name = decodeComponent(mark < 0 ? pair : pair.slice(0, mark));
    const value = mark < 0 ? '' : decodeComponent(pair.slice(mark + 1));
    if (name === null || value === null) throw refuse(name ?? '', 'has malformed percent-encoding');
    if (value.includes(NUL)) throw refuse(name, 'holds a NUL character');
    if (name in read) throw refuse(name, 'is given more than once');
    read[name] = value;
  }
  return read;
}

function refuse(name: string, message: string): Refusal {
  const path = name.slice(0, 100);
  return new Refusal('invalid_query', {
    detail: path === '' ? `The query ${message}.` : `The parameter ${path} ${message}.`,
    errors: [{ path, message }],
  });
}
