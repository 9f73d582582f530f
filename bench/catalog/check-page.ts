import { type Agent, get } from 'node:http';
import { gunzipSync } from 'node:zlib';

export interface ShownListing {
  id: number;
  title: string;
  price_usdc: number;
  merchant: string;
  description: string;
  preview: string;
  tags: string[];
  aisle: string;
  votes: number;
  sales: number;
  pinned: boolean;
  state: string;
}

export interface ShownPage {
  aisles: { name: string; count: number }[];
  listings: ShownListing[];
  total: number;
  returned: number;
  has_more: boolean;
  next_cursor: string | null;
}

/** Reads a page of a shelf. Throws if the page has a fault. */
export async function readPage(url: string, path: string, agent: Agent, gzip = false): Promise<ShownPage> {
  const { status, length, bytes } = await fetchBytes(`${url}${path}`, agent, gzip);
  if (status !== 200) throw new Error(`${path} is answered ${status}: ${bytes.toString().slice(0, 200)}`);
  if (length !== null && length !== bytes.length) throw new Error(`${path}: ${bytes.length} bytes, not ${length}`);
  const page = JSON.parse((gzip ? gunzipSync(bytes) : bytes).toString()) as ShownPage;
  const fault = faultOf(page, new URL(`${url}${path}`).searchParams);
  if (fault !== null) throw new Error(`${path}: ${fault}`);
  return page;
}

/** Finds a fault that no page may have, whatever is written meanwhile. */
function faultOf(page: ShownPage, query: URLSearchParams): string | null {
  const { listings, returned, total } = page;
  if (returned !== listings.length) return `returned ${returned} of ${listings.length} rows`;
  if (new Set(listings.map(({ id }) => id)).size !== returned) return 'a row twice';
  if (page.has_more !== (page.next_cursor !== null)) return 'has_more and next_cursor contradict each other';
  if (query.get('cursor') === null && total < returned) return `${returned} rows of ${total}`;
  if (query.get('cursor') === null && page.has_more !== total > returned)
    return `has_more ${page.has_more} with ${returned} of ${total}`;
  const [aisle, tag] = [query.get('aisle'), query.get('tag')];
  for (const one of listings) {
    if (one.state !== 'live') return `listing ${one.id} is ${one.state}`;
    if (aisle !== null && one.aisle !== aisle) return `listing ${one.id} stands in ${one.aisle}`;
    if (tag !== null && !one.tags.includes(tag)) return `listing ${one.id} has no tag ${tag}`;
  }
  return null;
}

/** Reads up to that many pages of a shelf. Throws if a row repeats, or if there are more rows than the first total. */
export async function checkWalk(url: string, query: string, agent: Agent, pages: number): Promise<void> {
  const seen = new Set<number>();
  let most: number | null = null;
  let cursor: string | null = '';
  for (let page = 0; page < pages && cursor !== null; page += 1) {
    const path: string = `/api/shelves?${query}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
    const { listings, total, next_cursor } = await readPage(url, path, agent);
    most ??= total;
    for (const { id } of listings) {
      if (seen.has(id)) throw new Error(`${query}: listing ${id} comes twice in one walk`);
      seen.add(id);
    }
    if (seen.size > most) throw new Error(`${query}: ${seen.size} rows in a walk that began with a total of ${most}`);
    cursor = next_cursor;
  }
}

interface Fetched {
  status: number;
  length: number | null;
  bytes: Buffer;
}

function fetchBytes(target: string, agent: Agent, gzip: boolean): Promise<Fetched> {
  return new Promise((resolve, reject) => {
    const headers = { accept: 'application/json', ...(gzip ? { 'accept-encoding': 'gzip' } : {}) };
    get(target, { agent, headers }, (answer) => {
      const chunks: Buffer[] = [];
      const length = answer.headers['content-length'];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          length: length === undefined ? null : Number(length),
          bytes: Buffer.concat(chunks),
        }),
      );
    }).on('error', reject);
  });
}
