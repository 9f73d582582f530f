import { createHash } from 'node:crypto';
import type pg from 'pg';
import { batchesOf } from './batches-of.ts';

export interface ArtifactsFound {
  count: number;
  bytes: number;
  faults: string[];
}

interface ArtifactLine {
  listing_id: string;
  salt: Buffer;
  content: Buffer;
  artifact_commitment: Buffer | null;
  artifact_bytes: number | null;
}

/** An artifact has 256 KiB at most unless an operator says otherwise: few are in memory at a time. */
const AT_ONCE = 16;

const ARTIFACTS = `
  select a.listing_id, a.salt, a.content, l.artifact_commitment, l.artifact_bytes
  from artifacts a left join listings l on l.id = a.listing_id order by a.listing_id`;

/** Every artifact, hashed with its salt here and not by the database, is what its listing has promised. */
export async function readArtifacts(client: pg.Client, say: (progress: string) => void): Promise<ArtifactsFound> {
  const found: ArtifactsFound = { count: 0, bytes: 0, faults: [] };
  for await (const lines of batchesOf<ArtifactLine>(client, ARTIFACTS, AT_ONCE)) {
    for (const line of lines) {
      found.count += 1;
      found.bytes += line.content.length;
      const hash = createHash('sha256').update(line.salt).update(line.content).digest();
      const name = `the artifact of listing ${line.listing_id}`;
      if (line.artifact_commitment === null || !hash.equals(line.artifact_commitment))
        found.faults.push(`${name} is not what its commitment says`);
      else if (line.artifact_bytes !== line.content.length)
        found.faults.push(`${name} is of another size than it says`);
    }
    say(`${found.count} artifacts, ${found.bytes} bytes`);
  }
  return found;
}
