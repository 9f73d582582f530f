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

/** Listings that left memory, as they are in the database; null when one is not what the model knows. */
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
    if (stampOf(fragment.bytes) !== stampIn(model, Number(row.id))) return null;
    read.set(Number(row.id), fragment);
  }
  return read;
}

function stampOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex').slice(0, 2 * STAMP_BYTES);
}

function stampIn(model: Model, id: number): string {
  const bytes = Buffer.alloc(STAMP_BYTES);
  model.fragments.stampInto(id, bytes, 0);
  return bytes.toString('hex');
}

/** The listings of a page and what stands around them; null: that cannot be said at once. May throw a Refusal. */
export type Build = (model: Model) => PageParts | null;

export interface ReadRequest {
  /** Path and query as sent. */
  target: string;
  acceptsGzip: boolean;
}

/** Pages of listings as bytes, from the cache or made of the model. */
export interface Answers {
  /**
   * At once, or null: then `full` answers. `leastVersion` is given where a page may be a little older than the model: no older than that
   * version. Left out: the page is of the model as it is.
   */
  fromMemory(asked: ReadRequest, build: Build, leastVersion?: () => number): Prepared | null;
  /** Listings that left memory are read from the database, and are of the same state as the rest. */
  full(asked: ReadRequest, build: (model: Model) => PageParts): Promise<Prepared>;
  /** For what is not made of listings alone. */
  cache: ResponseCache;
  /** Drops what there is no more room for, and all of it when the model was replaced. */
  trim(): void;
  /** How often a page was made. */
  pagesMade(): number;
}

/** With the 100 ms after which another process looks for changes, a change is shown everywhere within 250 ms. */
const LONGEST_STALE_MS = 100;
const MINUTE_MS = 60_000;
/** A row that changes between model and database is met again after the next step; that often in a row it is a flood. */
export const ROUNDS = 10;
export const JSON_PLAIN = ['content-type', 'application/json; charset=utf-8', 'vary', 'accept-encoding'];
const JSON_GZIP = [...JSON_PLAIN, 'content-encoding', 'gzip'];

/** Each encoding has other bytes, and needs a tag of its own. */
const plainTag = (tag: string): string => `"${tag}"`;
const gzipTag = (tag: string): string => `"${tag}.gz"`;

interface AnswerDependencies {
  catalog: Pick<Catalog, 'model' | 'fresh' | 'loadListings'>;
  database: Database;
  clock: Clock;
  cache: ResponseCache;
  made: number;
}

export function createAnswers(given: {
  catalog: AnswerDependencies['catalog'];
  database: Database;
  clock: Clock;
  /** Room for finished responses, in bytes. */
  keepBytes(): number;
}): Answers {
  const { catalog, keepBytes } = given;
  const buffers = () => catalog.model().pages.buffers;
  const cache = createResponseCache({ clock: given.clock, mostBytes: keepBytes, buffers });
  const parts: AnswerDependencies = { ...given, cache, made: 0 };
  let fitting = { model: catalog.model(), version: 0 };
  const trim = (): void => {
    const model = catalog.model();
    if (fitting.model === model && fitting.version === model.version) return;
    if (fitting.model === model) cache.trim();
    else cache.clear();
    model.pages.buffers.keepWithin(keepBytes());
    fitting = { model, version: model.version };
  };
  return {
    fromMemory: (asked, build, leastVersion) => {
      trim();
      return fromMemory(parts, asked, build, leastVersion);
    },
    full: async (asked, build) => {
      trim();
      return await readFull(parts, asked, build);
    },
    cache,
    trim,
    pagesMade: () => parts.made,
  };
}

function fromMemory(
  parts: AnswerDependencies,
  asked: ReadRequest,
  build: Build,
  leastVersion?: () => number,
): Prepared | null {
  const { cache, catalog, clock } = parts;
  const model = catalog.model();
  const key = asked.acceptsGzip ? `${asked.target}\ngzip` : asked.target;
  const kept = cache.get(key);
  if (kept !== undefined && isCurrent(kept, model, clock.now(), leastVersion)) return useResponse(kept);
  // Read before the page is made: a minute that ends meanwhile only makes a cursor expire later.
  const checkedAt = clock.now();
  const page = build(model);
  if (page === null || !areFilled(model, page.ids)) return null;
  const tag = tagOfParts(model.fragments, page);
  if (kept !== undefined && (kept.etag === plainTag(tag) || kept.etag === gzipTag(tag))) {
    Object.assign(kept, { version: model.version, checkedAt });
    return useResponse(kept);
  }
  const made = join(model, page, tag, asked.acceptsGzip);
  if (made === null) return null;
  parts.made += 1;
  return useResponse(cache.put(key, { version: model.version, ...made }));
}

/** A cursor holds the minute in which it was made, and is the same in every process. */
function isCurrent(kept: CachedResponse, model: Model, now: number, leastVersion?: () => number): boolean {
  if (minuteOf(kept.checkedAt) !== minuteOf(now)) return false;
  if (kept.version === model.version) return true;
  const age = now - kept.checkedAt;
  return leastVersion !== undefined && age >= 0 && age < LONGEST_STALE_MS && Number(kept.version) >= leastVersion();
}

function minuteOf(time: number): number {
  return Math.ceil(time / MINUTE_MS);
}

function join(model: Model, page: PageParts, tag: string, acceptsGzip: boolean) {
  const gzip = acceptsGzip ? joinGzipPage(model.pages, page) : null;
  if (gzip !== null) return { etag: gzipTag(tag), head: JSON_GZIP, page: gzip };
  const plain = joinPage(model.pages, page);
  return plain && { etag: plainTag(tag), head: JSON_PLAIN, page: plain };
}

/**
 * A page of which some listings left memory. They are read from the database and must be what the model says they are; where they
 * have moved on, the model does too and the page is made again. So no page is ever of two moments.
 */
async function readFull(
  parts: AnswerDependencies,
  asked: ReadRequest,
  build: (model: Model) => PageParts,
): Promise<Prepared> {
  const { catalog, database } = parts;
  for (let round = 0; round < ROUNDS; round += 1) {
    const ready = fromMemory(parts, asked, build);
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

/**
 * A strong ETag without its quotes, of bytes that need not exist yet: everything that the page is made of decides it, and a listing
 * stands for itself by its stamp. So it is the same in every process and after every restart.
 */
function tagOfParts(fragments: Fragments, { prefix, ids, suffix, outline }: PageParts): string {
  const length = 8 + prefix.length + ids.length * STAMP_BYTES + suffix.length + 1;
  if (scratch.length < length) scratch = Buffer.alloc(length * 2);
  // With both lengths no part can take the place of its neighbour.
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

/** A public read, as its route in memory gets it. */
export interface MemoryCall {
  /** The last part of the path. */
  name: string;
  query: string;
  asked: ReadRequest;
  /** The version of the model that the client has to be shown at least: its own last write is in it. */
  leastVersion(): number;
}

/** Null, or a Refusal thrown: the operation answers. */
export type MemoryRead = (call: MemoryCall) => Prepared | null;

/** What the schema of an endpoint makes of a query as it was sent; null where the operation has something to refuse. */
export function readQueryAs<Schema extends z.ZodType>(schema: Schema, query: string): z.output<Schema> | null {
  return unlessRefused(() => {
    const read = schema.safeParse(readQuery(query));
    return read.success ? read.data : null;
  });
}

export function unlessRefused<T>(read: () => T | null): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}
