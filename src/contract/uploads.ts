import { z } from 'zod';
import { hashOut } from './chain-values.ts';
import { endpoint } from './endpoint.ts';
import { idOut, timeOut } from './paging.ts';
import { UNTRUSTED } from './text.ts';

/** Uploads are appended to, and deleted, under this path by tus 1.0.0. */
export const UPLOAD_PATH = '/api/upload';

/** An upload's id, 22 characters of 0-9A-Za-z. It is no secret: only the key of its merchant uses it. */
export const UPLOAD_ID = /^[0-9A-Za-z]{22}$/;

export const uploadIdIn = z.string().regex(UPLOAD_ID, 'must be the id of an upload: 22 of 0-9A-Za-z');

export const UPLOAD_STATES = ['open', 'complete', 'held', 'listed', 'deleted'] as const;
export type UploadState = (typeof UPLOAD_STATES)[number];

export const uploadOut = z
  .object({
    id: z.string(),
    state: z
      .enum(UPLOAD_STATES)
      .describe('open: bytes are missing; complete: ready to list; held: for a listing fee that is under way'),
    bytes: z.int().positive(),
    received_bytes: z.int().nonnegative().describe('send the rest from this offset'),
    sha256: hashOut.nullable().describe('of all bytes; null until they have arrived'),
    filename: z.string().nullable().describe(UNTRUSTED),
    media_type: z.string().nullable().describe(UNTRUSTED),
    listing_id: idOut.nullable(),
    created_at: timeOut,
    expires_at: timeOut.nullable().describe('null while a listing or a fee holds the bytes'),
  })
  .meta({ id: 'Upload' });
export type UploadOut = z.output<typeof uploadOut>;

export const listUploads = endpoint({
  name: 'listUploads',
  method: 'GET',
  path: UPLOAD_PATH,
  summary: 'List your uploads: those not listed yet, and those listed or deleted in the last 30 days, newest first.',
  auth: 'key',
  answers: {
    200: z.object({
      uploads: z.array(uploadOut),
      total: z.int().nonnegative(),
      most_open: z.int().positive().describe('uploads that may be open at once'),
      most_staged_bytes: z.int().positive().describe('bytes that all uploads not listed yet may have together'),
    }),
  },
  errors: [],
  cache: 'private',
});

/** Most rows in one answer. A merchant has few uploads at a time, and listed ones are forgotten after 30 days. */
export const MOST_UPLOADS_SHOWN = 100;
/** Uploads of one merchant whose bytes have not all arrived. */
export const MOST_OPEN_UPLOADS = 3;
export const UPLOAD_HOURS = 24;
/** How long an upload's id, hash and size are kept after it was listed, deleted or expired. */
export const UPLOAD_MEMORY_DAYS = 30;

/** Goods as a file, for goods that came as an upload. */
export const downloadOut = z
  .object({
    url: z
      .string()
      .describe('GET it with the key, the delivery token, or download_token as X-Download-Token; ranges work'),
    bytes: z.int().positive(),
    media_type: z.string().describe(UNTRUSTED),
    filename: z.string().nullable().describe(UNTRUSTED),
    sha256: hashOut,
    download_token: z
      .string()
      .nullable()
      .describe('for X-Download-Token, if only a signature collected the goods; valid until expires_at'),
    expires_at: timeOut.nullable().describe('when download_token ends; the goods can be collected again after that'),
  })
  .meta({ id: 'Download' });
export type Download = z.output<typeof downloadOut>;

export const DOWNLOAD_PATH = '/api/download';
export const DOWNLOAD_TOKEN_MINUTES = 60;
/** Free goods up to this size are downloaded without a key. */
export const OPEN_DOWNLOAD_BYTES = 1_048_576;
/** A buyer may download this many times the goods' size a day. */
export const DOWNLOADS_PER_DAY = 20;
