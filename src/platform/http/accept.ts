/**
 * How much a client wants a media type, from its Accept header: 0 to 1. The most exact range that fits decides (RFC 9110, 12.5.1).
 * Without a header everything is as welcome.
 */
export function acceptQuality(accept: string | undefined, type: string): number {
  if (accept === undefined || accept.trim() === '') return 1;
  const [family = ''] = type.split('/');
  let quality = 0;
  let exactness = -1;
  for (const range of accept.split(',')) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const fit = name === type ? 2 : name === `${family}/*` ? 1 : name === '*/*' ? 0 : -1;
    if (fit <= exactness) continue;
    exactness = fit;
    quality = weight(parameters);
  }
  return quality;
}

function weight(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => parameter.startsWith('q='));
  if (given === undefined) return 1;
  const value = Number(given.slice(2));
  return value >= 0 && value <= 1 ? value : 0;
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
