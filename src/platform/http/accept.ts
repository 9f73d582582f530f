/** What a header of preferences names, in lower case, and how much each of it is wanted: 0 to 1. */
function wishesOf(header: string): ReadonlyMap<string, number> {
  const wishes = new Map<string, number>();
  for (const item of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim());
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    if (!wishes.has(name)) wishes.set(name, weight >= 0 && weight <= 1 ? weight : 0);
  }
  return wishes;
}

/**
 * How much a client wants a media type, from its Accept header: 0 to 1. The most exact range that fits decides (RFC 9110, 12.5.1).
 * Without a header everything is as welcome.
 */
export function acceptQuality(accept: string | undefined, type: string): number {
  if (accept === undefined || accept.trim() === '') return 1;
  const wishes = wishesOf(accept);
  return wishes.get(type) ?? wishes.get(`${type.split('/')[0]}/*`) ?? wishes.get('*/*') ?? 0;
}

/** The offered type that the client likes best; among equals the first offered; null when it wants none of them. */
export function preferredType<Type extends string>(accept: string | undefined, offered: readonly Type[]): Type | null {
  let best: Type | null = null;
  let bestQuality = 0;
  for (const type of offered) {
    const quality = acceptQuality(accept, type);
    if (quality <= bestQuality) continue;
    best = type;
    bestQuality = quality;
  }
  return best;
}

/** Bytes are sent only to those who ask for them by name and not less than for JSON. */
export function wantsBytes(accept: string | undefined): boolean {
  if (accept === undefined || !accept.toLowerCase().includes('application/octet-stream')) return false;
  const bytes = acceptQuality(accept, 'application/octet-stream');
  return bytes > 0 && bytes >= acceptQuality(accept, 'application/json');
}

const MOST_REMEMBERED = 256;
const LONGEST_REMEMBERED = 200;
// Clients send the same few texts again and again. What is kept depends on the text alone.
const remembered = new Map<string, boolean>();

/** Whether gzip is welcome, and not less than plain bytes. Without the header it is not: only those who ask for it get it. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined || acceptEncoding === '') return false;
  const known = remembered.get(acceptEncoding);
  if (known !== undefined) return known;
  const wishes = wishesOf(acceptEncoding);
  const gzip = wishes.get('gzip') ?? wishes.get('x-gzip') ?? wishes.get('*') ?? 0;
  const welcome = gzip > 0 && gzip >= (wishes.get('identity') ?? 0);
  if (acceptEncoding.length > LONGEST_REMEMBERED) return welcome;
  if (remembered.size >= MOST_REMEMBERED) remembered.clear();
  remembered.set(acceptEncoding, welcome);
  return welcome;
}
