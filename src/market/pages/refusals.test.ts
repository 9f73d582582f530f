import { afterAll, describe, expect, it } from 'vitest';
import { createSampleServer, samplePages } from '../../../test/support/sample-server.ts';
import { REASONS } from '../../contract/errors.ts';
import { formPage, page } from '../../platform/http/server-options.ts';
import { Refusal } from '../../platform/refusal.ts';
import { refusedPage } from './refusals.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const HOSTILE = '/<script>alert(1)</script>/"onload="x?q=<script>alert(2)</script>';

const failing = (path: string, fail: () => Error) =>
  page({
    method: 'GET',
    path,
    handler: () => {
      throw fail();
    },
  });

const pages = [
  ...samplePages,
  failing('/busy', () => new Refusal('rate_limited', { detail: 'hidden detail', retryAfterSeconds: 150 })),
  failing('/broken', () => new Error('hidden words of a bug')),
  failing('/paid', () => new Refusal('read_unavailable')),
  formPage({
    method: 'POST',
    path: '/form',
    secretFields: [],
    handler: () => ({ status: 200, headers: {}, body: '' }),
  }),
];

const { server, lines } = createSampleServer({ pages, refusedPage });
const without = createSampleServer({ pages }).server;

function open(url: string, accept = BROWSER, method: 'GET' | 'DELETE' | 'HEAD' = 'GET') {
  return server.inject({ method, url, headers: { accept } });
}

afterAll(async () => {
  for (const one of [server, without]) await one.close({ drainMs: 0 });
});

describe('a refusal in a browser', () => {
  it('says what happened, what it means, what to do, and how to ask about it', async () => {
    const { statusCode, headers, body } = await open('/nothing-here');
    expect(statusCode).toBe(404);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['cache-control']).toBe('private, no-store');
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(headers['etag']).toBeUndefined();
    expect(body).toContain('<h1>Not found</h1>');
    expect(body).toContain('It is not known to this market now.');
    expect(body).toContain('Check the address, or begin at the front page.');
    expect(body).toContain('<a href="/docs/errors/not_found">');
    expect(body).toContain(`<code>${headers['x-request-id']}</code>`);
  });

  it('shows nothing of what was sent, wherever it goes', async () => {
    for (const url of [HOSTILE, `/docs/errors${HOSTILE}`, `/%zz${HOSTILE}`, `/busy?q=<script>alert(3)</script>`]) {
      const { statusCode, body } = await open(url);
      expect(statusCode).toBeGreaterThanOrEqual(400);
      expect(body).toContain('<!doctype html>');
      expect(body).not.toMatch(/alert|onload|zz/);
      expect(body.match(/<script/g)).toHaveLength(1);
    }
  });

  it('keeps status and headers of the problem', async () => {
    const busy = await open('/busy');
    expect([busy.statusCode, busy.headers['retry-after']]).toEqual([429, '150']);
    expect(busy.body).toContain('It may work again in 3 minutes.');
    expect(busy.body).not.toContain('hidden detail');
    const wrong = await open('/form', BROWSER, 'DELETE');
    expect([wrong.statusCode, wrong.headers['allow']]).toEqual([405, 'POST, OPTIONS']);
    expect(wrong.body).toContain('<h1>This address does not support that method</h1>');
    const head = await open('/nothing-here', BROWSER, 'HEAD');
    expect([head.statusCode, head.body]).toEqual([404, '']);
  });

  it('says nothing of what a bug was, and that it shows no payment', async () => {
    const { statusCode, body } = await open('/broken');
    expect(statusCode).toBe(500);
    expect(body).not.toContain('hidden words');
    expect(body).toContain('make no payment because of it');
    expect(lines.join('')).toContain('hidden words of a bug');
    expect((await open('/paid')).body).toContain('If you have paid, do not pay again.');
  });

  it('reads well for every reason that there is', () => {
    for (const reason of REASONS) {
      const shown = refusedPage(new Refusal(reason), { accept: BROWSER, requestId: 'id', route: null });
      expect(shown?.body).toContain(`<a href="/docs/errors/${reason}">`);
    }
  });
});

describe('a refusal for programs', () => {
  it('is the same problem as ever, whether or not there are pages', async () => {
    for (const url of ['/nothing-here', '/busy', '/broken', '/paid', '/%zz']) {
      for (const accept of ['*/*', 'application/json', 'application/json, text/html;q=0.5', 'text/plain']) {
        const shown = await open(url, accept);
        const before = await without.inject({ url, headers: { accept } });
        expect(shown.headers['content-type']).toBe('application/problem+json');
        expect({ ...shown.json(), request_id: '' }).toEqual({ ...before.json(), request_id: '' });
        expect(shown.statusCode).toBe(before.statusCode);
      }
    }
  });

  it('is a problem in a browser too, where the address is an endpoint', async () => {
    for (const url of ['/api/thing/404', '/api/thing/500', '/api/thing/3?limit=x']) {
      expect((await open(url)).headers['content-type']).toBe('application/problem+json');
    }
  });
});
