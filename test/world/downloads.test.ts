import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { toBytes } from '../../src/platform/hex.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { makeDeliveryToken } from '../../src/platform/secrets.ts';
import { countRows } from '../support/database.ts';
import { BASE_URL } from '../support/market-world.ts';
import { callTool } from '../support/mcp-ask.ts';
import { signCollecting } from '../support/trade.ts';
import { downloadTrade } from './download-stage.ts';

const { world, seller, buyer, goods, file, download, bought } = downloadTrade();
const MIB = 1_048_576;
const octets = { accept: 'application/octet-stream' };

describe('goods that are a file', () => {
  it('are described by the purchase, never sent in it, and come from their address with key or token', async () => {
    const listing = await file({ size: 700_000, filename: 'naïve data.bin' });
    const token = makeDeliveryToken(systemRandom, 'aisle');
    await bought(listing, { key: buyer.key });
    await bought(listing, { token });
    const { status, body } = await world.buy(listing.id, { key: buyer.key });
    const url = `${BASE_URL}/api/download/${listing.id}`;
    const described = { url, bytes: 700_000, sha256: listing.sha256, filename: 'naïve data.bin' };
    expect([status, body['artifact'], body['next_step']]).toEqual([
      200,
      null,
      `These goods are a file: collect them with openaisle download ${listing.id}.`,
    ]);
    expect(body['download']).toEqual({
      ...described,
      media_type: 'text/plain; charset=utf-8',
      download_token: null,
      expires_at: null,
    });
    for (const asked of [{ key: buyer.key }, { deliveryToken: token }, { key: seller.key }]) {
      const got = await download(listing.id, asked);
      expect([got.status, got.bytes.equals(listing.bytes)]).toEqual([200, true]);
      expect(Object.fromEntries(got.headers)).toMatchObject({
        'content-type': 'application/octet-stream',
        'content-length': '700000',
        'accept-ranges': 'bytes',
        etag: listing.etag,
        'cache-control': 'private, no-store',
        'x-content-type-options': 'nosniff',
        'content-disposition': `attachment; filename="na_ve data.bin"; filename*=UTF-8''na%C3%AFve%20data.bin`,
      });
      expect(got.headers.get('content-encoding')).toBeNull();
    }
    const salt = toBytes(String(body['artifact_salt']) as `0x${string}`);
    const commitment = createHash('sha256').update(salt).update(listing.bytes).digest('hex');
    expect(listing.etag).toBe(`"0x${commitment}"`);
  });

  it('come in parts: first, middle, last, and whole where the parts are several or of other bytes', async () => {
    const listing = await file({ size: 1_200_000 });
    await bought(listing, { key: buyer.key });
    const { key } = buyer;
    const part = async (range: string, headers: Record<string, string> = {}) => {
      const got = await download(listing.id, { key, range, headers });
      return { ...got, span: got.headers.get('content-range') };
    };
    const parts: [string, number, number][] = [
      ['bytes=0-0', 0, 1],
      ['bytes=0-524287', 0, 524_288],
      ['bytes=524287-524288', 524_287, 524_289],
      ['bytes=300000-1100000', 300_000, 1_100_001],
      ['bytes=1199999-', 1_199_999, 1_200_000],
      ['bytes=-5', 1_199_995, 1_200_000],
      ['bytes=-9999999', 0, 1_200_000],
    ];
    for (const [range, from, to] of parts) {
      const got = await part(range);
      expect([range, got.status, got.span]).toEqual([range, 206, `bytes ${from}-${to - 1}/1200000`]);
      expect(got.headers.get('content-length')).toBe(String(to - from));
      expect(got.bytes.equals(listing.bytes.subarray(from, to))).toBe(true);
    }
    for (const range of ['bytes=0-1,5-6', 'bytes=9-1', 'chunks=1-2', 'bytes=x']) {
      expect((await part(range)).status).toBe(200);
    }
    expect((await part('bytes=0-9', { 'if-range': listing.etag })).status).toBe(206);
    for (const other of ['"0xabc"', `W/${listing.etag}`, 'Sat, 28 Nov 2026 00:00:00 GMT']) {
      const got = await part('bytes=0-9', { 'if-range': other });
      expect([got.status, got.bytes.length]).toEqual([200, 1_200_000]);
    }
    for (const range of ['bytes=1200000-', 'bytes=-0']) {
      const got = await part(range);
      expect([got.status, got.reason, got.span]).toEqual([416, 'range_not_satisfiable', 'bytes */1200000']);
    }
    const head = await download(listing.id, { method: 'HEAD', key, range: 'bytes=0-9' });
    expect([head.status, head.headers.get('content-length'), head.bytes.length]).toEqual([200, '1200000', 0]);
    expect(head.headers.get('etag')).toBe(listing.etag);
  });

  it('are streamed by POST /api/buy too, to a client that asks for bytes', async () => {
    const listing = await file({ size: 900_000 });
    await bought(listing, { key: buyer.key });
    const response = await fetch(`${world.url}/api/buy/${listing.id}`, {
      method: 'POST',
      headers: { ...octets, authorization: `Bearer ${buyer.key}` },
    });
    expect([response.status, response.headers.get('content-length')]).toEqual([200, '900000']);
    expect(Buffer.from(await response.arrayBuffer()).equals(listing.bytes)).toBe(true);
  });

  it('a string is downloaded from the same address', async () => {
    const listing = await goods({ artifact: 'hidden wörds' });
    await bought(listing, { key: buyer.key });
    const got = await download(listing.id, { key: buyer.key });
    expect([got.status, got.bytes.toString('utf8')]).toEqual([200, 'hidden wörds']);
    expect(got.headers.get('content-disposition')).toBe(`attachment; filename="listing-${listing.id}"`);
    const part = await download(listing.id, { key: buyer.key, range: 'bytes=0-5' });
    expect([part.status, part.bytes.toString('utf8')]).toEqual([206, 'hidden']);
    expect((await world.buy(listing.id, { key: buyer.key })).body).toMatchObject({
      artifact: 'hidden wörds',
      download: null,
    });
  });

  it('stand in the list of purchases and in the own listing', async () => {
    const listing = await file();
    await bought(listing, { key: buyer.key });
    const { body } = await world.ask('GET', '/api/purchases?limit=1', { key: buyer.key });
    const [newest] = body['purchases'] as Record<string, unknown>[];
    const url = `${BASE_URL}/api/download/${listing.id}`;
    expect(newest).toMatchObject({ artifact: null, download: { url, bytes: 10_000, sha256: listing.sha256 } });
    const own = await world.ask('GET', `/api/me/listing/${listing.id}`, { key: seller.key });
    expect(own.body).toMatchObject({ artifact: null, download: { url, bytes: 10_000, download_token: null } });
  });

  it('reach a model as an address, never as bytes', async () => {
    const listing = await file({ bytes: Buffer.from('small enough for a context window') });
    await bought(listing, { key: buyer.key });
    const result = await callTool(world, 'buy', { id: Number(listing.id) }, { key: buyer.key });
    const url = `${BASE_URL}/api/download/${listing.id}`;
    expect(result.body).toMatchObject({ artifact: null, download: { url, bytes: 33 } });
    expect(JSON.stringify(result)).not.toContain('context window');
    expect(String(result.body['next_step'])).toContain('openaisle download');
    expect(String(result.body['how_to_fetch'])).toContain('download.url');
  });
});

describe('a download token', () => {
  it('is given with what a signature collects, collects for an hour, and is not renewed by itself', async () => {
    const listing = await file({ size: 2 * MIB });
    const payer = await bought(listing);
    const sign = () => signCollecting(world.chain, listing, { payer: payer.address, signer: payer });
    const { v2, body } = await sign();
    const collected = await world.buy(listing.id, { proof: v2, body });
    const given = collected.body['download'] as { download_token: string; expires_at: string };
    expect(given.download_token).toMatch(/^aisle_dl_[0-9A-Za-z]{49}$/);
    const ahead = Date.parse(given.expires_at) - Date.parse(collected.headers.get('date') ?? '');
    expect(Math.round(ahead / 60_000)).toBe(60);
    const downloadToken = given.download_token;
    for (const range of ['bytes=0-999', 'bytes=1000-']) {
      expect((await download(listing.id, { downloadToken, range })).status).toBe(206);
    }
    const again = await world.buy(listing.id, {
      body: { collect: true },
      headers: { 'x-download-token': downloadToken },
    });
    expect(again).toMatchObject({
      status: 200,
      body: { collected_by: 'signature', download: { download_token: null } },
    });
    // Bytes come at once and need none.
    const { v2: other, body: otherBody } = await sign();
    const before = await countRows(world.db.database);
    const response = await fetch(`${world.url}/api/buy/${listing.id}`, {
      method: 'POST',
      headers: { ...octets, 'content-type': 'application/json', [other.header]: other.value },
      body: JSON.stringify(otherBody),
    });
    expect(Buffer.from(await response.arrayBuffer()).equals(listing.bytes)).toBe(true);
    expect((await countRows(world.db.database))['download_tokens']).toEqual(before['download_tokens']);
  });

  it('comes to a tool in _meta, and the data has none', async () => {
    const listing = await file();
    const payer = await bought(listing);
    const { v2, salt } = await signCollecting(world.chain, listing, { payer: payer.address, signer: payer });
    const payment = JSON.parse(Buffer.from(v2.value, 'base64').toString('utf8')) as unknown;
    const args = { id: Number(listing.id), collect: true, collect_salt: salt };
    const result = await callTool(world, 'buy', args, { meta: { 'x402/payment': payment } });
    expect(result.body).toMatchObject({ download: { download_token: null } });
    expect(JSON.stringify(result.body)).not.toContain('_dl_');
    expect(JSON.stringify(result.meta)).toContain('_dl_');
  });
});

describe('free goods', () => {
  it('up to 1 MiB need no credential', async () => {
    const listing = await file({ size: MIB, units: 0n });
    const before = await countRows(world.db.database);
    const got = await download(listing.id);
    expect([got.status, got.bytes.equals(listing.bytes)]).toEqual([200, true]);
    expect(await countRows(world.db.database)).toEqual(before);
  });
});
