import sql from 'sql-template-tag';
import { expect } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { createDice } from './dice.ts';
import { eventsAbout, type Flow, retryUntilDone } from './kill-flows.ts';
import type { KillWorld } from './kill-world.ts';
import { askTus, checksumOf, type TusAnswer, type TusRequest } from './upload-stage.ts';
import { bytesOf, uploadedBody } from './uploaded-goods.ts';

/** More than two chunks, in requests that end within one. */
const UPLOAD_BYTES = 1_300_000;
const REQUEST_BYTES = 450_000;
const PAUSE_MS = 100;

/** Serves the market that lives right now. */
export interface Lives {
  url(): Promise<string>;
}

export interface UploadClient {
  key: string;
  bytes: Buffer;
  /** Sends each request with its checksum. */
  withChecksums: boolean;
}

/** Makes the bytes of an upload from a seed. */
export function bytesOfSeed(seed: number): Buffer {
  const dice = createDice(seed);
  return Buffer.from(Uint8Array.from({ length: UPLOAD_BYTES }, () => dice.number(256)));
}

/** Sends a request until a market lives long enough to answer. Null if it did not answer, or is not ready. */
async function tryTus(lives: Lives, method: string, path: string, asked: TusRequest): Promise<TusAnswer | null> {
  const answer = await lives
    .url()
    .then((url) => askTus(url, method, path, asked))
    .catch(() => null);
  if (answer !== null && answer.status < 500) return answer;
  await systemClock.sleep(PAUSE_MS);
  return null;
}

/** Asks until there is an answer. */
async function untilAnswered(lives: Lives, method: string, path: string, asked: TusRequest): Promise<TusAnswer> {
  for (;;) {
    const answer = await tryTus(lives, method, path, asked);
    if (answer !== null) return answer;
  }
}

/** Uploads over all deaths of the market, as a tus client does. Checks that no acknowledged offset goes back. Returns the upload's path. */
export async function uploadOverDeaths(lives: Lives, client: UploadClient): Promise<string> {
  const { key, bytes, withChecksums } = client;
  const headers = { 'upload-length': String(bytes.length) };
  const { headers: made } = await untilAnswered(lives, 'POST', '/api/upload', { key, headers });
  const path = new URL(made.get('location') ?? '').pathname;
  let acknowledged = 0;
  while (acknowledged < bytes.length) {
    const head = await untilAnswered(lives, 'HEAD', path, { key });
    const offset = Number(head.headers.get('upload-offset'));
    if (offset < acknowledged) throw new Error(`the upload went back from ${acknowledged} to ${offset}`);
    acknowledged = offset;
    if (offset === bytes.length) break;
    const body = bytes.subarray(offset, offset + REQUEST_BYTES);
    const checksum: Record<string, string> = withChecksums ? { 'upload-checksum': checksumOf(body) } : {};
    const sent = { key, body, headers: { 'upload-offset': String(offset), ...checksum } };
    const answer = await tryTus(lives, 'PATCH', path, sent);
    if (answer?.status === 204) acknowledged = Number(answer.headers.get('upload-offset'));
    else if (answer !== null && answer.body['reason'] !== 'upload_offset')
      throw new Error(`a PATCH was answered ${answer.status} ${JSON.stringify(answer.body)}`);
  }
  return path;
}

/** Deletes the merchant's uploads that are not listed, as those are whose creation was not answered. */
export async function deleteUnlisted(lives: Lives, key: string): Promise<void> {
  const { body } = await untilAnswered(lives, 'GET', '/api/upload', { key });
  for (const { id, state } of body['uploads'] as { id: string; state: string }[]) {
    if (state !== 'open' && state !== 'complete') continue;
    const { status } = await untilAnswered(lives, 'DELETE', `/api/upload/${id}`, { key });
    expect([204, 410]).toContain(status);
  }
}

/** Describes what nothing refers to any more. */
export async function readLeftovers(database: Database): Promise<Record<string, number>> {
  return await database.one(sql`
    select (select count(*)::int from goods_objects o where not exists (select from artifacts a where a.object_id = o.id)
        and not exists (select from uploads u where u.object_id = o.id)) as objects,
      (select count(*)::int from goods_deletions) as deletions,
      (select count(*)::int from uploads where payment_id is not null) as held,
      (select count(*)::int from goods_chunks c join uploads u on u.object_id = c.object_id
        where c.start + c.bytes > u.received and u.received = u.bytes) as surplus`);
}

export const NO_LEFTOVERS = { objects: 0, deletions: 0, held: 0, surplus: 0 };

export const livesOf = (scene: KillWorld): Lives => ({ url: async () => (await scene.market.current()).url });
let seeds = 0;

function uploadFlow(withChecksums: boolean): Flow {
  return async (scene) => {
    seeds += 1;
    const bytes = bytesOfSeed(seeds);
    const { key } = scene.keeper;
    const { database } = scene.world.db;
    let title = '';
    return {
      act: async () => {
        const path = await uploadOverDeaths(livesOf(scene), { key, bytes, withChecksums });
        const body = uploadedBody(path.slice(path.lastIndexOf('/') + 1), { price_usdc: 0 });
        title = body.title;
        await retryUntilDone(scene, () => scene.ask('POST', '/api/listing', { key, body }));
      },
      check: async () => {
        const { id } = await database.one<{ id: bigint }>(sql`select id from listings where title = ${title}`);
        expect(await eventsAbout(scene.world, 'maintainer_seed', id)).toBe(1);
        expect((await bytesOf({ database, objectStore: null }, id)).equals(bytes)).toBe(true);
        await deleteUnlisted(livesOf(scene), key);
        expect(await readLeftovers(database)).toEqual(NO_LEFTOVERS);
      },
    };
  };
}

/** Uploads in several requests and lists as the maintainer, who pays no fee. */
export const uploadAndList = uploadFlow(false);
/** The same with a checksum for each request, whose bytes count all together. */
export const uploadWithChecksums = uploadFlow(true);

/** Downloads goods over all deaths of the market, in as many parts as it takes. */
export async function downloadOverDeaths(
  lives: Lives,
  id: bigint,
  client: { key: string; bytes: number },
): Promise<Buffer> {
  const { key, bytes } = client;
  const received: Buffer[] = [];
  let from = 0;
  while (from < bytes) {
    try {
      const headers = { authorization: `Bearer ${key}`, range: `bytes=${from}-` };
      const response = await fetch(new URL(`/api/download/${id}`, await lives.url()), { headers });
      if (response.status !== 206 || response.body === null) throw new Error(`a range was answered ${response.status}`);
      for await (const piece of response.body) {
        received.push(Buffer.from(piece));
        from += piece.length;
      }
    } catch {
      await systemClock.sleep(PAUSE_MS);
    }
  }
  return Buffer.concat(received);
}

/** Takes uploaded goods that are free, and downloads them in as many parts as it takes. */
export const collectUpload: Flow = async (scene) => {
  seeds += 1;
  const bytes = bytesOfSeed(seeds);
  const lives = livesOf(scene);
  const { keeper } = scene;
  const { database } = scene.world.db;
  const path = await uploadOverDeaths(lives, { key: keeper.key, bytes, withChecksums: false });
  const body = uploadedBody(path.slice(path.lastIndexOf('/') + 1), { price_usdc: 0 });
  await retryUntilDone(scene, () => scene.ask('POST', '/api/listing', { key: keeper.key, body }));
  const { id } = await database.one<{ id: bigint }>(sql`select id from listings where title = ${body.title}`);
  const { key } = await scene.member();
  let received: Buffer = Buffer.alloc(0);
  return {
    act: async () => {
      const answer = await untilAnswered(lives, 'POST', `/api/buy/${id}`, { key });
      expect(answer).toMatchObject({ status: 200, body: { artifact: null, download: { bytes: bytes.length } } });
      received = await downloadOverDeaths(lives, id, { key, bytes: bytes.length });
    },
    check: async () => {
      expect(received.equals(bytes)).toBe(true);
      expect(await database.rows(sql`select from purchases where listing_id = ${id}`)).toHaveLength(1);
      expect(await eventsAbout(scene.world, 'sale', id)).toBe(1);
    },
  };
};

/** Deletes a complete upload. */
export const deleteUpload: Flow = async (scene) => {
  seeds += 1;
  const { key } = await scene.member();
  const { database } = scene.world.db;
  const path = await uploadOverDeaths(livesOf(scene), { key, bytes: bytesOfSeed(seeds), withChecksums: false });
  return {
    act: () => deleteUnlisted(livesOf(scene), key),
    check: async () => {
      const id = path.slice(path.lastIndexOf('/') + 1);
      const upload = await database.one(
        sql`select object_id, ended_at is not null as ended from uploads where id = ${id}`,
      );
      expect(upload).toEqual({ object_id: null, ended: true });
      expect(await readLeftovers(database)).toEqual(NO_LEFTOVERS);
    },
  };
};
