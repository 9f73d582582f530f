import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/database/database.ts';
import { matchesEtag } from '../../../platform/http/etag.ts';
import type { Prepared, QuickAnswer, QuickRead } from '../../../platform/http/prepared.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Catalog } from '../catalog.ts';
import { joinGzipPage, joinPage, type PageParts } from '../fragments/page-bytes.ts';
import type { Model } from '../model/model.ts';
import { createKeptAnswers, type Kept, type KeptAnswers } from './kept-answers.ts';
import { readPage } from './read-page.ts';
import { tagOfParts } from './tag-of-parts.ts';

/** Pages of listings as bytes. */
export interface Answers {
  /**
   * At once, from memory; null where that cannot be. `key` names what is asked for if it is worth keeping the bytes. A refusal is no
   * answer here: the long way says it.
   */
  quick(read: QuickRead, key: string | null, build: (model: Model) => PageParts | null): QuickAnswer | null;
  /** The long way: what left memory is read from the database, of the same state as the rest. */
  full(build: (model: Model) => PageParts): Promise<Prepared>;
}

const MINUTE_MS = 60_000;
/** Bytes of their own cost more than a page that is put together in memory that is used again; they pay when they are sent often. */
const WORTH_KEEPING = 3;
const JSON_PLAIN = ['content-type', 'application/json; charset=utf-8', 'vary', 'accept-encoding'];
const JSON_GZIP = [...JSON_PLAIN, 'content-encoding', 'gzip'];

/** The bytes in gzip are other bytes, and need a tag of their own. */
const plainTag = (tag: string): string => `"${tag}"`;
const gzipTag = (tag: string): string => `"${tag}.gz"`;

interface Parts {
  catalog: Pick<Catalog, 'model' | 'fresh'>;
  clock: Clock;
  kept: KeptAnswers;
}

type Build = (model: Model) => PageParts | null;

export function createAnswers(given: {
  catalog: Pick<Catalog, 'model' | 'fresh'>;
  database: Database;
  clock: Clock;
  keepBytes: number;
}): Answers {
  const { catalog, clock, database } = given;
  const parts = { catalog, clock, kept: createKeptAnswers(given.keepBytes) };
  return {
    quick: (read, key, build) => {
      try {
        return key === null ? answerAnew(parts, read, build) : answerKept(parts, read, key, build);
      } catch (error) {
        if (error instanceof Refusal) return null;
        throw error;
      }
    },
    full: async (build) => {
      const { body, tag, release } = await readPage(catalog, database, build);
      return { etag: plainTag(tag), head: JSON_PLAIN, body, release };
    },
  };
}

function answerKept(parts: Parts, read: QuickRead, key: string, build: Build): QuickAnswer | null {
  const entry = currentEntry(parts, key, build);
  if (entry === null) return null;
  const known = notModified(read, entry.tag);
  if (known !== null) return known;
  entry.asked += 1;
  if (entry.asked < WORTH_KEEPING) return answerParts(entry.model, read, entry.parts, entry.tag);
  const { pages } = entry.model;
  if (read.acceptsGzip) {
    entry.gzip ??= owned(joinGzipPage(pages, entry.parts));
    if (entry.gzip !== null) {
      parts.kept.note(key);
      return { status: 200, etag: gzipTag(entry.tag), head: JSON_GZIP, body: entry.gzip };
    }
  }
  entry.plain ??= owned(joinPage(pages, entry.parts));
  if (entry.plain === null) return null;
  parts.kept.note(key);
  return { status: 200, etag: plainTag(entry.tag), head: JSON_PLAIN, body: entry.plain };
}

function currentEntry({ catalog, clock, kept }: Parts, key: string, build: Build): Kept | null {
  const model = catalog.model();
  // A cursor holds the minute it was made in.
  const minute = Math.ceil(clock.now() / MINUTE_MS);
  const known = kept.get(key);
  if (known?.model === model && known.version === model.version && known.minute === minute) return known;
  const page = build(model);
  if (page === null) return null;
  const tag = tagOfParts(model.fragments, page);
  // Something changed, though nothing on this page: the bytes are still right.
  if (known?.model === model && known.tag === tag) {
    known.version = model.version;
    known.minute = minute;
    return known;
  }
  const fresh: Kept = { model, version: model.version, minute, tag, parts: page, asked: 0, plain: null, gzip: null };
  kept.put(key, fresh);
  return fresh;
}

function answerAnew({ catalog }: Parts, read: QuickRead, build: Build): QuickAnswer | null {
  const model = catalog.model();
  const page = build(model);
  if (page === null) return null;
  const tag = tagOfParts(model.fragments, page);
  return notModified(read, tag) ?? answerParts(model, read, page, tag);
}

function answerParts(model: Model, read: QuickRead, page: PageParts, tag: string): QuickAnswer | null {
  const gzip = read.acceptsGzip ? joinGzipPage(model.pages, page) : null;
  if (gzip !== null) return { status: 200, etag: gzipTag(tag), head: JSON_GZIP, ...gzip };
  const plain = joinPage(model.pages, page);
  return plain && { status: 200, etag: plainTag(tag), head: JSON_PLAIN, ...plain };
}

function notModified(read: QuickRead, tag: string): QuickAnswer | null {
  const { ifNoneMatch } = read;
  if (ifNoneMatch === undefined) return null;
  if (matchesEtag(ifNoneMatch, gzipTag(tag))) return { status: 304, etag: gzipTag(tag), head: JSON_PLAIN.slice(2) };
  if (matchesEtag(ifNoneMatch, plainTag(tag))) return { status: 304, etag: plainTag(tag), head: JSON_PLAIN.slice(2) };
  return null;
}

/** A buffer that is written again must not be kept. */
function owned(page: { body: Uint8Array; release(): void } | null): Buffer | null {
  if (page === null) return null;
  const copy = Buffer.from(page.body);
  page.release();
  return copy;
}
