export type Compression = 'br' | 'gzip';

/** How much a client wants each coding: 0 to 1. */
interface Wishes {
  br: number;
  gzip: number;
  /** 0 when it is not named: anything that is named is liked better. */
  identity: number;
}

const NOTHING: Wishes = { br: 0, gzip: 0, identity: 0 };
const MOST_REMEMBERED = 256;
const LONGEST_REMEMBERED = 200;
const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

// Clients send the same few texts again and again. What is kept depends on the text alone.
const remembered = new Map<string, Wishes>();

/** Whether gzip is welcome, and not less than plain bytes. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  const { gzip, identity } = wishesOf(acceptEncoding);
  return gzip > 0 && gzip >= identity;
}

/** What the client likes best among these; null: plain bytes. Brotli goes first among equals. */
export function preferredCompression(acceptEncoding: string | undefined): Compression | null {
  const { br, gzip, identity } = wishesOf(acceptEncoding);
  if (br > 0 && br >= gzip && br >= identity) return 'br';
  return gzip > 0 && gzip >= identity ? 'gzip' : null;
}

/** Without the header a client may take anything; only those who ask for compression get it. */
function wishesOf(header: string | undefined): Wishes {
  if (header === undefined || header === '') return NOTHING;
  const known = remembered.get(header);
  if (known !== undefined) return known;
  const wishes = readWishes(header);
  if (header.length > LONGEST_REMEMBERED) return wishes;
  if (remembered.size >= MOST_REMEMBERED) remembered.clear();
  remembered.set(header, wishes);
  return wishes;
}

function readWishes(header: string): Wishes {
  const named = new Map<string, number>();
  for (const item of header.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = item.split(';').map((part) => part.trim());
    named.set(coding === 'x-gzip' ? 'gzip' : coding, qualityOf(parameters));
  }
  const others = named.get('*') ?? 0;
  return {
    br: named.get('br') ?? others,
    gzip: named.get('gzip') ?? others,
    identity: named.get('identity') ?? 0,
  };
}

function qualityOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => parameter.startsWith('q='));
  if (given === undefined) return 1;
  const text = given.slice(2);
  return QUALITY.test(text) ? Number(text) : 0;
}
