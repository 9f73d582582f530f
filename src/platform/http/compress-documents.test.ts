import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createCompressor } from './compress-documents.ts';

const text = (seed: number) => `document ${seed} `.repeat(200);

async function compressed(compress: ReturnType<typeof createCompressor>, tag: string, body: string | Uint8Array) {
  return await expect.poll(() => compress(tag, body, 'br'), { timeout: 10_000 }).not.toBeNull();
}

describe('documents that are compressed once', () => {
  it('are sent as they are until that is done, and then are the same text', async () => {
    const compress = createCompressor();
    expect(compress('"a"', text(1), 'br')).toBeNull();
    await compressed(compress, '"a"', text(1));
    const br = compress('"a"', text(1), 'br');
    expect(brotliDecompressSync(br?.bytes ?? '').toString()).toBe(text(1));
    await expect.poll(() => compress('"a"', text(1), 'gzip'), { timeout: 10_000 }).not.toBeNull();
    const gzip = compress('"a"', text(1), 'gzip');
    expect(gunzipSync(gzip?.bytes ?? '').toString()).toBe(text(1));
    expect(br?.etag).not.toBe(gzip?.etag);
  });

  it('do not change when the memory that they came in is written again', async () => {
    const compress = createCompressor();
    const body = Buffer.from(text(1));
    expect(compress('"a"', body, 'br')).toBeNull();
    body.fill('x');
    await compressed(compress, '"a"', text(1));
    expect(brotliDecompressSync(compress('"a"', body, 'br')?.bytes ?? '').toString()).toBe(text(1));
  });

  it('make room for others, those not asked for the longest first', async () => {
    const one = createCompressor();
    await compressed(one, '"a"', text(1));
    const size = one('"a"', text(1), 'br')?.bytes.length ?? 0;
    const compress = createCompressor(size * 2 + 10);
    await compressed(compress, '"a"', text(1));
    await compressed(compress, '"b"', text(2));
    await compressed(compress, '"a"', text(1));
    await compressed(compress, '"c"', text(3));
    expect(compress('"a"', text(1), 'br')).not.toBeNull();
    expect(compress('"b"', text(2), 'br')).toBeNull();
  });

  it('are left alone where there is nothing to gain', async () => {
    const compress = createCompressor();
    expect(compress('"small"', 'short', 'br')).toBeNull();
    // The place is still free, so this one is begun and the small one was not.
    await compressed(compress, '"a"', text(1));
    expect(compress('"small"', 'short', 'br')).toBeNull();
  });
});
