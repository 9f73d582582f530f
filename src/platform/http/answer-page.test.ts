import { describe, expect, it } from 'vitest';
import { startSample } from '../../../test/support/sample-server.ts';
import type { PageAnswer } from './server-options.ts';

function startPage(answer: PageAnswer) {
  const { server } = startSample({ pages: [{ method: 'GET', path: '/guide', handler: () => answer }] });
  return (headers: Record<string, string> = {}) => server.inject({ url: '/guide', headers });
}

describe('a page with bytes that are ready', () => {
  it('brings its own tag, and gets its bytes back', async () => {
    let released = 0;
    const release = () => {
      released += 1;
    };
    const ask = startPage({ status: 200, headers: {}, body: Buffer.from('ready'), etag: '"mine"', release });
    const answer = await ask();
    expect([answer.body, answer.headers['etag'], released]).toEqual(['ready', '"mine"', 1]);
    const known = await ask({ 'if-none-match': '"mine"' });
    expect([known.statusCode, released]).toEqual([304, 2]);
  });
});
