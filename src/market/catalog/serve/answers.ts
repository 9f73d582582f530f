import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/database/database.ts';
import { matchesEtag } from '../../../platform/http/etag.ts';
import type { Prepared, QuickAnswer, QuickRead } from '../../../platform/http/prepared.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Catalog } from '../catalog.ts';
import { joinGzipPage, joinPage, type PageParts } from '../fragments/page-bytes.ts';
import { areFilled } from '../model/is-filled.ts';
import type { Model } from '../model/model.ts';
import {
  createKeptAnswers,
  dropBytes,
  dropGzip,
  type Kept,
  type KeptAnswers,
  type WatchedParts,
} from './kept-answers.ts';
import { readPage } from './read-page.ts';
import { frameListings, type SharedPage, sharePage } from './shared-page.ts';
import { digestOfListings, tagAround } from './tag-of-parts.ts';

export type Build = (model: Model) => WatchedParts | null;

/** Pages of listings as bytes. */
export interface Answers {
  /**
   * At once, from memory; null where that cannot be. `key` names what is asked for if it is worth keeping the bytes. A refusal is no
   * answer here: the long way says it. What is built says itself when it has to be built anew (`still`), or depends on `basis`, the
   * version with which anything last changed that could make it another page; its listings themselves are watched apart.
   */
  quick(read: QuickRead, key: string, build: Build, basis?: (model: Model) => number): QuickAnswer | null;
  /** What was asked for before and is the same still, whatever it is; null: it has to be looked at. */
  again(read: QuickRead): QuickAnswer | null;
  /** The long way: what left memory is read from the database, of the same state as the rest. */
  full(build: (model: Model) => PageParts): Promise<Prepared>;
  /** Gives up what there is no room for any more, and what is of a copy that was exchanged for another. */
  trim(): void;
  /** Of all that is kept. */
  keptBytes(): number;
  /** How often a page was put together, and not only looked at. */
  pagesMade(): number;
  /** How often a kept page was held against what had changed since it was last asked for. */
  pagesCompared(): number;
}

const MINUTE_MS = 60_000;
/** Most of what is asked for once is not asked for again. */
const WORTH_KEEPING = 2;
const JSON_PLAIN = ['content-type', 'application/json; charset=utf-8', 'vary', 'accept-encoding'];
const JSON_GZIP = [...JSON_PLAIN, 'content-encoding', 'gzip'];

/** The bytes in gzip are other bytes, and need a tag of their own. */
const plainTag = (tag: string): string => `"${tag}"`;
const gzipTag = (tag: string): string => `"${tag}.gz"`;

interface Parts {
  catalog: Pick<Catalog, 'model'>;
  clock: Clock;
  kept: KeptAnswers;
  counts: { made: number; compared: number };
}

export function createAnswers(given: {
  catalog: Pick<Catalog, 'model' | 'fresh' | 'bring'>;
  database: Database;
  clock: Clock;
  /** How many may be kept. */
  keepBytes: () => number;
}): Answers {
  const { catalog, clock, database, keepBytes } = given;
  const parts = { catalog, clock, kept: createKeptAnswers(keepBytes), counts: { made: 0, compared: 0 } };
  let fitting = { model: catalog.model(), version: 0 };
  /** Gives up what there is no room for any more, and what is of a copy that was exchanged for another. */
  const trim = (): void => {
    const model = catalog.model();
    if (fitting.model === model && fitting.version === model.version) return;
    if (fitting.model === model) parts.kept.trim();
    else parts.kept.clear();
    model.pages.buffers.keepWithin(keepBytes() - parts.kept.entryBytes());
    fitting = { model, version: model.version };
  };
  return {
    quick: (read, key, build, basis = versionOf) => {
      try {
        trim();
        return answerKept(parts, read, { key, build, basis });
      } catch (error) {
        if (error instanceof Refusal) return null;
        throw error;
      }
    },
    again: (read) => {
      trim();
      const entry = parts.kept.get(read.target);
      if (entry === undefined || !isCurrent(parts, entry, unknownBasis)) return null;
      return answerEntry(parts, read, read.target, entry);
    },
    full: async (build) => {
      const { body, tag, release } = await readPage(catalog, database, build);
      return { etag: plainTag(tag), head: JSON_PLAIN, body, release };
    },
    trim,
    keptBytes: () => parts.kept.bytes(),
    pagesMade: () => parts.counts.made,
    pagesCompared: () => parts.counts.compared,
  };
}

interface Asked {
  key: string;
  build: Build;
  basis(model: Model): number;
}

function versionOf({ version }: Model): number {
  return version;
}

/** Of a page that is not known to be the same unless it says so itself. */
function unknownBasis(): number {
  return Number.POSITIVE_INFINITY;
}

function answerKept(parts: Parts, read: QuickRead, asked: Asked): QuickAnswer | null {
  const { catalog, clock, kept, counts } = parts;
  let entry = kept.get(asked.key);
  if (entry === undefined || !isCurrent(parts, entry, asked.basis)) {
    const model = catalog.model();
    // Before it is built: a cursor of the minute after lives longer than it has to, one of the minute before would be another elsewhere.
    const minute = minuteOf(clock);
    const page = asked.build(model);
    if (page === null || !areFilled(model, page.ids)) return null;
    counts.made += 1;
    entry = renew(entry, { model, minute, page });
    kept.put(asked.key, entry);
  }
  return answerEntry({ kept }, read, asked.key, entry);
}

/** A cursor holds the minute it was made in. */
function minuteOf(clock: Clock): number {
  return Math.ceil(clock.now() / MINUTE_MS);
}

function answerEntry({ kept }: Pick<Parts, 'kept'>, read: QuickRead, key: string, entry: Kept): QuickAnswer | null {
  entry.asked += 1;
  const known = notModified(read, entry.tag);
  if (known !== null) return known;
  if (entry.asked < WORTH_KEEPING) return answerParts(entry, read);
  const had = read.acceptsGzip ? entry.gzip : entry.listings;
  const answer = answerBytes(entry, read);
  if (had === null) kept.note(key, entry);
  return answer;
}

/**
 * Whether it is the same page still. If only listings on it have changed, their bytes are given up; if only its beginning, those that
 * hold the beginning. Its tag is made anew by what has changed.
 */
function isCurrent({ catalog, clock, counts }: Parts, entry: Kept, basis: Asked['basis']): boolean {
  const model = catalog.model();
  if (entry.model !== model || entry.minute !== minuteOf(clock) || entry.outdated) return false;
  if (entry.version === model.version) return true;
  counts.compared += 1;
  const now = partsNow(entry, model, basis);
  if (now === null || !areFilled(model, now.ids)) {
    entry.outdated = true;
    return false;
  }
  const untouched = listingsUntouched(entry);
  entry.version = model.version;
  const { prefix, suffix } = entry.parts;
  if (untouched && now.prefix === prefix && now.suffix === suffix) return true;
  if (untouched) dropGzip(entry);
  else dropBytes(entry);
  if (!untouched) entry.listingsDigest = digestOfListings(model.fragments, now);
  entry.tag = tagAround(now, entry.listingsDigest);
  entry.parts = now;
  return true;
}

/** Null: it is another page now. */
function partsNow({ parts, version }: Kept, model: Model, basis: Asked['basis']): WatchedParts | null {
  if (parts.still !== undefined) return parts.still(model, version);
  return basis(model) > version ? null : parts;
}

/** Whether no listing of the page has changed since its parts were right. */
function listingsUntouched({ model, version, parts }: Kept): boolean {
  const { changedAt } = model.columns;
  for (const id of parts.ids) if ((changedAt[id] ?? 0) > version) return false;
  return true;
}

function renew(before: Kept | undefined, now: { model: Model; minute: number; page: WatchedParts }): Kept {
  const { model, minute, page } = now;
  const listingsDigest = digestOfListings(model.fragments, page);
  const tag = tagAround(page, listingsDigest);
  const fresh = { model, version: model.version, minute, listingsDigest, tag, parts: page, outdated: false };
  if (before === undefined) return { ...fresh, asked: 0, listings: null, gzip: null };
  // Something changed, though nothing that shows: the bytes are still right. Often it is only what stands around the listings.
  if (before.model !== model || !sameListings(before.parts, page) || !listingsUntouched(before)) dropBytes(before);
  else if (before.tag !== tag) dropGzip(before);
  return Object.assign(before, fresh);
}

function sameListings(a: PageParts, b: PageParts): boolean {
  return a.outline === b.outline && a.ids.length === b.ids.length && a.ids.every((id, at) => id === b.ids[at]);
}

/** Bytes for this once. */
function answerParts({ model, parts, tag }: Kept, read: QuickRead): QuickAnswer | null {
  const gzip = read.acceptsGzip ? joinGzipPage(model.pages, parts) : null;
  if (gzip !== null) return { status: 200, etag: gzipTag(tag), head: JSON_GZIP, ...gzip };
  const plain = joinPage(model.pages, parts);
  return plain && { status: 200, etag: plainTag(tag), head: JSON_PLAIN, ...plain };
}

/** Bytes that stay for the next. */
function answerBytes(entry: Kept, read: QuickRead): QuickAnswer | null {
  const { pages } = entry.model;
  const { prefix, suffix } = entry.parts;
  if (read.acceptsGzip) {
    entry.gzip ??= shareGzip(entry);
    if (entry.gzip !== null) {
      entry.gzip.users += 1;
      const { body, release } = entry.gzip;
      return { status: 200, etag: gzipTag(entry.tag), head: JSON_GZIP, body, release };
    }
  }
  entry.listings ??= frameListings(pages, entry.parts);
  const { listings } = entry;
  if (listings === null) return null;
  const whole = listings.within(prefix, suffix);
  listings.users += 1;
  const plain = { status: 200, etag: plainTag(entry.tag), head: JSON_PLAIN, release: listings.release } as const;
  return whole === null ? { ...plain, pieces: [prefix, listings.body, suffix] } : { ...plain, body: whole };
}

function shareGzip({ model, parts }: Kept): SharedPage | null {
  const page = joinGzipPage(model.pages, parts);
  return page && sharePage(page);
}

function notModified(read: QuickRead, tag: string): QuickAnswer | null {
  const { ifNoneMatch } = read;
  if (ifNoneMatch === undefined) return null;
  if (matchesEtag(ifNoneMatch, gzipTag(tag))) return { status: 304, etag: gzipTag(tag), head: JSON_PLAIN.slice(2) };
  if (matchesEtag(ifNoneMatch, plainTag(tag))) return { status: 304, etag: plainTag(tag), head: JSON_PLAIN.slice(2) };
  return null;
}
