import sql from 'sql-template-tag';
import type { Market } from '../../src/market/context.ts';
import { readObject } from '../../src/market/goods/chunk-store.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { newGoods } from './trade.ts';

export type UploadedBody = Record<string, unknown> & { title: string; artifact_upload: string };

/** Returns a body that names an upload in place of a string. */
export function uploadedBody(id: string, changes: Record<string, unknown> = {}): UploadedBody {
  const { artifact: _, title, ...body } = newGoods(changes);
  return { ...body, title, artifact_upload: id };
}

export interface ListedArtifact {
  salt: Buffer;
  content: Buffer | null;
  object_id: bigint | null;
  commitment: Buffer;
  bytes: number;
  encoding: string;
  media_type: string;
  filename: string | null;
}

export function artifactOf(database: Database, listingId: bigint): Promise<ListedArtifact> {
  return database.one<ListedArtifact>(
    sql`select a.salt, a.content, a.object_id, l.artifact_commitment as commitment, l.artifact_bytes as bytes,
        l.artifact_encoding as encoding, l.artifact_media_type as media_type, l.artifact_filename as filename
      from artifacts a join listings l on l.id = a.listing_id where l.id = ${listingId}`,
  );
}

/** Reads the uploaded bytes of a listing. */
export async function bytesOf(market: Pick<Market, 'database' | 'objectStore'>, listingId: bigint): Promise<Buffer> {
  const { object_id: objectId, bytes } = await artifactOf(market.database, listingId);
  if (objectId === null) throw new Error('these goods are a string');
  const pieces: Buffer[] = [];
  for await (const piece of readObject(market, objectId, { from: 0, to: bytes })) pieces.push(piece);
  return Buffer.concat(pieces);
}

interface UploadRow {
  object_id: bigint | null;
  payment_id: bigint | null;
  listing_id: bigint | null;
  ended_at: Date | null;
  expires_at: Date;
}

export function uploadRow(database: Database, id: string): Promise<UploadRow> {
  return database.one<UploadRow>(
    sql`select object_id, payment_id, listing_id, ended_at, expires_at from uploads where id = ${id}`,
  );
}
