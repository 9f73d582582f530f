import { hash } from 'node:crypto';
import type { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database/database.ts';
import { readQuery } from '../../platform/http/message.ts';
import type { Prepared } from '../../platform/http/operation.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Catalog } from './catalog.ts';
import { type Fragments, STAMP_BYTES } from './fragments/fragments.ts';
import { type AbsentFragment, joinGzipPage, joinPage, type PageParts } from './fragments/page-bytes.ts';
import { fragmentOf } from './model/apply-changes.ts';
import { areFilled, type Model } from './model/model.ts';
import { type CachedResponse, createResponseCache, type ResponseCache, useResponse } from './response-cache.ts';
import { readListings } from './store.ts';

type AbsentFragments = NonNullable<PageParts['absentFragments']>;

/** Reads evicted listings from the database. Returns null if a row differs from what the model knows. */
export async function readAbsentFragments(
  model: Model,
  database: Database,
  ids: readonly number[],
): Promise<AbsentFragments | null> {
  const absent = ids.filter((id) => !model.fragments.has(id));
  const read = new Map<number, AbsentFragment>();
  if (absent.length === 0) return read;
  for (const row of await readListings(database, absent.map(BigInt))) {
    const fragment = fragmentOf(row);
    if (stampOf(fragment.bytes) !== modelStamp(model, Number(row.id))) return null;
    read.set(Number(row.id), fragment);
  }
  return read;
}

function stampOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex').slice(0, 2 * STAMP_BYTES);
}

function modelStamp(model: Model, id: number): string {
  const bytes = Buffer.alloc(STAMP_BYTES);
  model.fragments.stampInto(id, bytes, 0);
  return bytes.toString('hex');
}

/** Returns a page's listing ids and the bytes around them, or null if the model alone cannot build it. May throw a Refusal. */
export type Build = (model: Model) => PageParts | null;

export interface ReadRequest {
  /** Path and query as sent. */
  target: string;
  acceptsGzip: boolean;
}

/** Builds pages of listings as bytes, from the cache or from the model. */
export interface Answers {
  /** Answers synchronously. Null if `full` is needed. With `leastVersion`, may return a cached page of at least that model version. */
  fromMemory(request: ReadRequest, build: Build, leastVersion?: () => number): Prepared | null;
  /** Also reads evicted listings from the database. All parts of the page show the same moment. */
  full(request: ReadRequest, build: (model: Model) => PageParts): Promise<Prepared>;
  /** Used directly for responses that contain more than listings. */
  cache: ResponseCache;
  /** Drops responses that no longer fit, or all of them if the model was replaced. */
  trim(): void;
  pagesMade(): number;
}

/**
 * How long a cached page may be served after the model changed. Other processes poll for changes every 100 ms, so a change is visible
 * everywhere within 250 ms.
 */
const LONGEST_STALE_MS = 100;
const MINUTE_MS = 60_000;
/** How often to try to build a page while its rows in the database are newer than the model. Each failed try refreshes the model. */
export const MOST_ATTEMPTS = 10;
export const JSON_PLAIN = ['content-type', 'application/json; charset=utf-8', 'vary', 'accept-encoding'];
const JSON_GZIP = [...JSON_PLAIN, 'content-encoding', 'gzip'];

/** Each encoding has different bytes and so needs its own tag. */
const plainTag = (tag: string): string => `"${tag}"`;
const gzipTag = (tag: string): string => `"${tag}.gz"`;

interface AnswerDependencies {
  catalog: Pick<Catalog, 'model' | 'fresh' | 'loadListings'>;
  database: Database;
  clock: Clock;
  cache: ResponseCache;
  pagesMade: number;
}

export function createAnswers(options: {
  catalog: AnswerDependencies['catalog'];
  database: Database;
  clock: Clock;
  keepBytes(): number;
}): Answers {
  const { catalog, keepBytes } = options;
  const buffers = () => catalog.model().pages.buffers;
  const cache = createResponseCache({ clock: options.clock, mostBytes: keepBytes, buffers });
  const dependencies: AnswerDependencies = { ...options, cache, pagesMade: 0 };
  let trimmedFor = { model: catalog.model(), version: 0 };
  const trim = (): void => {
    const model = catalog.model();
    if (trimmedFor.model === model && trimmedFor.version === model.version) return;
    if (trimmedFor.model === model) cache.trim();
    else cache.clear();
    model.pages.buffers.keepWithin(keepBytes());
    trimmedFor = { model, version: model.version };
  };
  return {
    fromMemory: (request, build, leastVersion) => {
      trim();
      return fromMemory(dependencies, request, build, leastVersion);
    },
    full: async (request, build) => {
      trim();
      return await readFull(dependencies, request, build);
    },
    cache,
    trim,
    pagesMade: () => dependencies.pagesMade,
  };
}

function fromMemory(
  dependencies: AnswerDependencies,
  request: ReadRequest,
  build: Build,
  leastVersion?: () => number,
): Prepared | null {
  const { cache, catalog, clock } = dependencies;
  const model = catalog.model();
  const key = request.acceptsGzip ? `${request.target}\ngzip` : request.target;
  const cached = cache.get(key);
  if (cached !== undefined && isCurrent(cached, model, clock.now(), leastVersion)) return useResponse(cached);
  // Read the clock before building. If the minute ends during the build, the page is taken for an older one and rebuilt sooner.
  const checkedAt = clock.now();
  const page = build(model);
  if (page === null || !areFilled(model, page.ids)) return null;
  const tag = tagOfParts(model.fragments, page);
  if (cached !== undefined && (cached.etag === plainTag(tag) || cached.etag === gzipTag(tag))) {
    Object.assign(cached, { version: model.version, checkedAt });
    return useResponse(cached);
  }
  const joined = joinEncoded(model, page, tag, request.acceptsGzip);
  if (joined === null) return null;
  dependencies.pagesMade += 1;
  return useResponse(cache.put(key, { version: model.version, ...joined }));
}

/** A cursor contains the minute it was made in, so a cached page is current for that minute only. */
function isCurrent(cached: CachedResponse, model: Model, now: number, leastVersion?: () => number): boolean {
  if (minuteOf(cached.checkedAt) !== minuteOf(now)) return false;
  if (cached.version === model.version) return true;
  const age = now - cached.checkedAt;
  return leastVersion !== undefined && age >= 0 && age < LONGEST_STALE_MS && Number(cached.version) >= leastVersion();
}

function minuteOf(time: number): number {
  return Math.ceil(time / MINUTE_MS);
}

function joinEncoded(model: Model, page: PageParts, tag: string, acceptsGzip: boolean) {
  const gzip = acceptsGzip ? joinGzipPage(model.pages, page) : null;
  if (gzip !== null) return { etag: gzipTag(tag), head: JSON_GZIP, page: gzip };
  const plain = joinPage(model.pages, page);
  return plain && { etag: plainTag(tag), head: JSON_PLAIN, page: plain };
}

/** Reads evicted listings from the database. If one does not match the model, refreshes and retries, so no page mixes two moments. */
async function readFull(
  dependencies: AnswerDependencies,
  request: ReadRequest,
  build: (model: Model) => PageParts,
): Promise<Prepared> {
  const { catalog, database } = dependencies;
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const ready = fromMemory(dependencies, request, build);
    if (ready !== null) return ready;
    const model = catalog.model();
    const page = build(model);
    if (!areFilled(model, page.ids)) {
      await catalog.loadListings(page.ids);
      continue;
    }
    const tag = tagOfParts(model.fragments, page);
    const absentFragments = await readAbsentFragments(model, database, page.ids);
    if (absentFragments !== null && tagOfParts(model.fragments, page) === tag) {
      const joined = joinPage(model.pages, { ...page, absentFragments });
      if (joined !== null) return { etag: plainTag(tag), head: JSON_PLAIN, body: joined.body, release: joined.release };
    }
    await catalog.fresh();
  }
  throw new Refusal('unavailable', { retryAfterSeconds: 1 });
}

const TAG_CHARACTERS = 27;
let scratch = Buffer.alloc(16_384);

/** Derives a strong ETag (without quotes) from all parts of the page. It is the same in every process and after a restart. */
function tagOfParts(fragments: Fragments, { prefix, ids, suffix, outline }: PageParts): string {
  const length = 8 + prefix.length + ids.length * STAMP_BYTES + suffix.length + 1;
  if (scratch.length < length) scratch = Buffer.alloc(length * 2);
  // Including both lengths keeps neighbouring parts from being confused.
  let at = scratch.writeUInt32LE(ids.length, scratch.writeUInt32LE(prefix.length, 0));
  scratch.set(prefix, at);
  at += prefix.length;
  for (const id of ids) {
    fragments.stampInto(id, scratch, at);
    at += STAMP_BYTES;
  }
  scratch.set(suffix, at);
  scratch[at + suffix.length] = outline ? 1 : 0;
  return hash('sha256', scratch.subarray(0, length), 'base64url').slice(0, TAG_CHARACTERS);
}

export interface MemoryCall {
  /** The last segment of the path. */
  name: string;
  query: string;
  request: ReadRequest;
  /** The lowest model version this client may see. It includes the client's own last write. */
  leastVersion(): number;
}

/** Answers from memory. Returns null or throws a Refusal if the operation must answer instead. */
export type MemoryRead = (call: MemoryCall) => Prepared | null;

/** Parses a query string with an endpoint's schema. Returns null if it is invalid; the operation then refuses it. */
export function readQueryAs<Schema extends z.ZodType>(schema: Schema, query: string): z.output<Schema> | null {
  return nullIfRefused(() => {
    const read = schema.safeParse(readQuery(query));
    return read.success ? read.data : null;
  });
}

export function nullIfRefused<T>(read: () => T | null): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}
