export interface PageRequest {
  path: string;
  headers: Readonly<Record<string, string>>;
}

/** Requests of one kind, sent in turn. All get the same status. */
export interface PageKind {
  name: string;
  status: 200 | 304;
  requests: readonly PageRequest[];
  /** The same pages by SQL. Empty for a kind that is not compared with SQL. */
  sql: readonly SqlPage[];
}

/** A page of the shelves, or one listing, in database terms. */
export type SqlPage = { listing: number } | SqlShelf;

export interface SqlShelf {
  aisle?: string;
  tag?: string;
  words?: string;
  sort: 'new' | 'karma' | 'relevance';
  /** Row after which the page starts, in the order of the shelf. */
  after?: { id: number; votes: number };
}

export const JSON_HEADERS: Readonly<Record<string, string>> = { accept: 'application/json' };
export const GZIP_HEADERS: Readonly<Record<string, string>> = { ...JSON_HEADERS, 'accept-encoding': 'gzip' };

/** Formats a request for the wire. */
export function requestText(url: string, { path, headers }: PageRequest): string {
  const lines = Object.entries({ host: new URL(url).host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}
