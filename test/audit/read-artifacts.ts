import { createHash } from 'node:crypto';
import type pg from 'pg';
import { createFaults, type Faults } from './bounds.ts';
import { batchesOf, hasTable } from './read-batches.ts';

export interface ArtifactsFound {
  count: number;
  bytes: number;
  /** Goods in a store outside of the database, whose bytes this audit does not read. */
  elsewhere: number;
  /** Goods whose bytes the operator erased, as the log says. */
  erased: number;
  faults: string[];
}

interface ArtifactLine {
  listing_id: string;
  salt: Buffer;
  /** Null for uploaded and erased goods. */
  content: Buffer | null;
  object_id: string | null;
  artifact_commitment: Buffer | null;
  artifact_bytes: number | null;
  erased: boolean;
  /** Whether the log has an event of the erasure. */
  told: boolean;
}

/** Small, because this many artifacts are in memory at once, and one may have 256 KiB by default. */
const AT_ONCE = 16;
/** Chunks of uploaded goods in memory at once. One has 512 KiB. */
const CHUNKS_AT_ONCE = 4;

const TOLD = `a.erased and exists (select from events e where e.listing_id = a.listing_id and e.kind = 'moderation'
    and convert_from(e.canonical, 'UTF8')::jsonb -> 'detail' ->> 'action' = 'erase')`;

const ARTIFACTS = ({ hasUploads, hasErasures }: { hasUploads: boolean; hasErasures: boolean }): string => `
  select a.listing_id, a.salt, a.content, ${hasUploads ? 'a.object_id' : 'null as object_id'}, l.artifact_commitment, l.artifact_bytes,
    ${hasErasures ? `a.erased, ${TOLD} as told` : 'false as erased, false as told'}
  from artifacts a left join listings l on l.id = a.listing_id order by a.listing_id`;

/** Checks every artifact against the commitment of its listing. Hashes salt and artifact here, not in the database. */
export async function readArtifacts(client: pg.Client, say: (progress: string) => void): Promise<ArtifactsFound> {
  const faults = createFaults();
  const found: ArtifactsFound = { count: 0, bytes: 0, elsewhere: 0, erased: 0, faults: [] };
  const uploaded: ArtifactLine[] = [];
  const hasUploads = await hasTable(client, 'goods_objects');
  const hasErasures = await hasTable(client, 'erasures');
  for await (const lines of batchesOf<ArtifactLine>(client, ARTIFACTS({ hasUploads, hasErasures }), AT_ONCE)) {
    for (const line of lines) {
      found.count += 1;
      if (line.erased) {
        found.erased += 1;
        if (!line.told) faults.add([`the goods of listing ${line.listing_id} are erased, and the log does not say so`]);
      } else if (line.content === null) uploaded.push(line);
      else found.bytes += compare(faults, line, hashOf(line.salt, line.content));
    }
    say(`${found.count} artifacts, ${found.bytes} bytes`);
  }
  for (const line of uploaded) {
    const read = await readUploaded(client, line);
    if (read === null) found.elsewhere += 1;
    else found.bytes += compare(faults, line, read);
    say(`${uploaded.length} uploaded artifacts, ${found.bytes} bytes`);
  }
  return { ...found, faults: faults.list() };
}

interface ReadGoods {
  hash: Buffer;
  bytes: number;
}

/** Returns the number of bytes. */
function compare(faults: Faults, line: ArtifactLine, { hash, bytes }: ReadGoods): number {
  const name = `the artifact of listing ${line.listing_id}`;
  if (line.artifact_commitment === null || !hash.equals(line.artifact_commitment))
    faults.add([`${name} is not what its commitment says`]);
  else if (line.artifact_bytes !== bytes) faults.add([`${name} is of another size than it says`]);
  return bytes;
}

function hashOf(salt: Buffer, content: Buffer): ReadGoods {
  return { hash: createHash('sha256').update(salt).update(content).digest(), bytes: content.length };
}

interface ChunkLine {
  start: string;
  content: Buffer | null;
}

/** Hashes the chunks of uploaded goods in order. Null if they are in another store. A gap between them changes the hash. */
async function readUploaded(client: pg.Client, { salt, object_id: objectId }: ArtifactLine): Promise<ReadGoods | null> {
  const hash = createHash('sha256').update(salt);
  let bytes = 0;
  let isElsewhere = false;
  // The id is a number of our own query.
  const chunks = `select start, content from goods_chunks where object_id = ${BigInt(objectId ?? 0)} order by start`;
  for await (const lines of batchesOf<ChunkLine>(client, chunks, CHUNKS_AT_ONCE)) {
    for (const { content } of lines) {
      if (content === null) isElsewhere = true;
      else hash.update(content);
      bytes += content?.length ?? 0;
    }
  }
  return isElsewhere ? null : { hash: hash.digest(), bytes };
}
