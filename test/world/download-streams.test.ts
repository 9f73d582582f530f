import { createHash } from 'node:crypto';
import { get, type IncomingMessage } from 'node:http';
import { Worker } from 'node:worker_threads';
import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import { CHUNK_BYTES } from '../../src/market/goods/chunk-store.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { DownloadReport } from '../support/download-program.ts';
import { liveMemory } from '../support/live-memory.ts';
import type { Member } from '../support/market-world.ts';
import { seedPaidPurchase } from '../support/seed.ts';
import { type Asked, downloadTrade, type FileGoods } from './download-stage.ts';

const MIB = 1_048_576;
const DAY_MS = 86_400_000;
/** Begins at noon, so that no test ends on another day. */
let ahead = DAY_MS / 2 - (systemClock.now() % DAY_MS);
const clock = { ...systemClock, now: () => systemClock.now() + ahead };
const { world, buyer, file, download } = downloadTrade({
  clock,
  limits: { free_download_megabytes_per_ip_day: 3 },
});

const sell = (listing: FileGoods, { id: merchantId }: Pick<Member, 'id'>) =>
  seedPaidPurchase(world.db.database, listing.id, { merchantId });

/** Sends a request by itself, so that its connection can be cut. */
async function open(id: bigint, range?: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${buyer.key}`, ...(range === undefined ? {} : { range }) };
  return await new Promise((resolve, reject) => {
    get(`${world.url}/api/download/${id}`, { headers, agent: false }, resolve).on('error', reject);
  });
}

/** Reads an answer, and cuts its connection after at least that many bytes. */
async function readUntil(answer: IncomingMessage, most: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of answer as AsyncIterable<Buffer>) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes >= most) break;
    }
  } finally {
    answer.destroy();
  }
  return Buffer.concat(pieces);
}

describe('a connection', () => {
  it('that is cut 20 times is continued where it broke off', async () => {
    const listing = await file({ size: 12 * MIB });
    await sell(listing, buyer);
    const pieces: Buffer[] = [];
    let at = 0;
    for (let cuts = 0; cuts <= 20; cuts += 1) {
      const answer = await open(listing.id, `bytes=${at}-`);
      expect(answer.statusCode).toBe(206);
      const part = await readUntil(answer, cuts === 20 ? Number.POSITIVE_INFINITY : 300_000);
      pieces.push(part);
      at += part.length;
    }
    expect(Buffer.concat(pieces).equals(listing.bytes)).toBe(true);
  });

  it('breaks where a chunk is missing or short, and never ends as if the goods were whole', async () => {
    const { database } = world.db;
    await database.run(sql`alter table goods_chunks disable trigger user`);
    const damage: [string, (goods: FileGoods) => ReturnType<typeof sql>, number][] = [
      [
        'the second is missing',
        ({ objectId }) => sql`delete from goods_chunks where object_id = ${objectId} and start = ${CHUNK_BYTES}`,
        CHUNK_BYTES,
      ],
      [
        'the last is missing',
        ({ objectId }) => sql`delete from goods_chunks where object_id = ${objectId} and start = ${2 * CHUNK_BYTES}`,
        2 * CHUNK_BYTES,
      ],
      [
        'the second is short',
        ({ objectId }) => sql`update goods_chunks set content = substring(content for 1000), bytes = 1000
          where object_id = ${objectId} and start = ${CHUNK_BYTES}`,
        CHUNK_BYTES + 1000,
      ],
    ];
    for (const [name, act, most] of damage) {
      const listing = await file({ size: 3 * CHUNK_BYTES });
      await sell(listing, buyer);
      await database.run(act(listing));
      const answer = await open(listing.id);
      expect([name, answer.statusCode, answer.headers['content-length']]).toEqual([name, 200, String(3 * CHUNK_BYTES)]);
      let got = 0;
      const reading = (async () => {
        for await (const piece of answer as AsyncIterable<Buffer>) got += piece.length;
      })();
      await expect(reading).rejects.toThrow('aborted');
      expect([name, got <= most]).toEqual([name, true]);
      // The bytes that are there can still be had.
      const part = await download(listing.id, { key: buyer.key, range: `bytes=0-${CHUNK_BYTES - 1}` });
      expect(part.bytes.equals(listing.bytes.subarray(0, CHUNK_BYTES))).toBe(true);
      const lost = await download(listing.id, { key: buyer.key, range: `bytes=${most}-` });
      expect([lost.status, lost.reason, lost.headers.get('content-range')]).toEqual([500, 'internal_error', null]);
    }
    expect(world.logLines.some(({ event }) => event === 'answer_stream_failed')).toBe(true);
    await database.run(sql`alter table goods_chunks enable trigger user`);
  });

  it('of a slow client holds a few pieces: 8 downloads of 16 MiB at once need less than 60 MB', async () => {
    const listing = await file({ size: 16 * MIB });
    await sell(listing, buyer);
    const before = liveMemory();
    let most = 0;
    let samples = 0;
    const program = new Worker(new URL('../support/download-program.ts', import.meta.url), {
      workerData: {
        url: `${world.url}/api/download/${listing.id}`,
        headers: { authorization: `Bearer ${buyer.key}` },
        ...{ count: 8, reportEvery: 8 * MIB },
      },
    });
    const hashes = await new Promise<string[]>((resolve, reject) => {
      program.on('error', reject);
      program.on('message', (report: DownloadReport) => {
        if ('hashes' in report) return resolve(report.hashes);
        samples += 1;
        most = Math.max(most, liveMemory() - before);
      });
    });
    // Hashed only now, so that the goods are held, and counted, all the time.
    const expected = createHash('sha256').update(listing.bytes).digest('hex');
    process.stdout.write(`8 downloads of 16 MiB: ${(most / MIB).toFixed(1)} MiB in use\n`);
    expect(hashes).toEqual(Array.from({ length: 8 }, () => expected));
    expect(samples).toBeGreaterThan(8);
    expect(most).toBeLessThan(60_000_000);
  }, 300_000);
});

describe('the budget of a day', () => {
  const said = ({ status, reason }: { status: number; reason: unknown }): string => `${status} ${reason ?? 'goods'}`;
  const times = async (count: number, act: () => Promise<string>): Promise<string[]> => {
    const all: string[] = [];
    for (let time = 0; time < count; time += 1) all.push(await act());
    return all;
  };

  it('is 20 times the size for a purchase, whatever the door, and begins anew the next day', async () => {
    const listing = await file({ size: 100_000 });
    const second = await world.join(`second-buyer-${listing.id}`);
    await sell(listing, buyer);
    await sell(listing, second);
    const again = async (asked: Asked = {}) => said(await download(listing.id, { key: buyer.key, ...asked }));
    expect(new Set(await times(19, again))).toEqual(new Set(['200 goods']));
    const halves = ['bytes=0-51199', 'bytes=51200-'];
    for (const range of halves) expect(await again({ range })).toBe('206 goods');
    const spent = await download(listing.id, { key: buyer.key });
    expect([said(spent), Number(spent.headers.get('retry-after')) > 0]).toEqual(['429 rate_limited', true]);
    const problem = JSON.parse(spent.bytes.toString()) as Record<string, unknown>;
    expect(problem).toMatchObject({ do_not_pay_again: true, next_step: expect.stringContaining('20 times a day') });
    expect(await again({ range: 'bytes=0-0' })).toBe('429 rate_limited');
    expect(await again({ method: 'HEAD' })).toBe('200 goods');
    const bytes = await fetch(`${world.url}/api/buy/${listing.id}`, {
      method: 'POST',
      headers: { accept: 'application/octet-stream', authorization: `Bearer ${buyer.key}` },
    });
    expect([bytes.status, await bytes.json()]).toEqual([429, expect.objectContaining({ do_not_pay_again: true })]);
    expect((await world.buy(listing.id, { key: buyer.key })).status).toBe(200);
    expect(await again({ key: second.key })).toBe('200 goods');
    ahead += DAY_MS;
    expect(await again()).toBe('200 goods');
    ahead -= DAY_MS;
  });

  it('holds against many at once, and counts only what was sent', async () => {
    const listing = await file({ size: 100_000 });
    await sell(listing, buyer);
    const all = await Promise.all(
      Array.from({ length: 30 }, async () => said(await download(listing.id, { key: buyer.key }))),
    );
    expect(all.filter((one) => one === '200 goods').length).toBe(20);
    const large = await file({ size: 16 * MIB });
    await sell(large, buyer);
    const answer = await open(large.id);
    await readUntil(answer, 1);
    const counted = async (): Promise<number> => {
      const row = await world.db.database.one<{ used: number }>(
        sql`select used from rate_counters where name = 'downloads_per_purchase_day'
          and subject = (select 'purchase ' || id from purchases where listing_id = ${large.id})`,
      );
      return row.used;
    };
    await expect.poll(counted, { timeout: 10_000 }).toBeLessThan(15 * 1024);
  });

  it('of free goods over 1 MiB is by network and listing without a key, and a key has its own', async () => {
    const listing = await file({ size: 2 * MIB, units: 0n });
    const another = await file({ size: 2 * MIB, units: 0n });
    const small = await file({ size: MIB, units: 0n });
    const open = async (asked: Asked = {}) => said(await download(listing.id, asked));
    expect(await times(3, open)).toEqual(['200 goods', '200 goods', '429 rate_limited']);
    const spent = await download(listing.id, { range: 'bytes=0-9' });
    const problem = JSON.parse(spent.bytes.toString()) as Record<string, unknown>;
    expect(problem).toMatchObject({
      detail: 'free_download_megabytes_per_ip_day: the limit of 3 in 86400 seconds is used up.',
      next_step: expect.stringContaining('key'),
      do_not_pay_again: false,
    });
    expect(await open({ key: buyer.key })).toBe('200 goods');
    expect(said(await download(another.id))).toBe('200 goods');
    expect(new Set(await times(5, async () => said(await download(small.id))))).toEqual(new Set(['200 goods']));
  });
});
