import { describe, expect, it } from 'vitest';
import { startSample } from '../../../test/support/sample-server.ts';
import { Refusal } from '../refusal.ts';
import type { Incoming, Outgoing } from './message.ts';

const PAGE = 'text/html';

async function face({ headers, target, notes }: Incoming): Promise<Outgoing | null> {
  if (headers.accept !== PAGE) return null;
  if (target.query === 'limit=4') throw new Refusal('not_found', { detail: 'Not for people.' });
  notes['shown'] = true;
  return { status: 200, headers: { 'content-type': PAGE, vary: 'accept-encoding' }, body: `<p>${target.path}</p>` };
}

const sample = () =>
  startSample({
    representations: () => ({ readThing: face }),
    extraRoutes: (inside) => [
      {
        method: 'GET',
        path: '/extra',
        answer: (from) =>
          inside.ask({ route: 'GET /api/thing/:id', params: { id: '3' }, headers: { accept: PAGE } }, from),
      },
    ],
  });

describe('a face', () => {
  it('answers only clients that ask for it: programs get the same bytes as without one', async () => {
    const { server } = sample();
    const { server: plain } = startSample();
    const shown = await server.inject({ url: '/api/thing/3', headers: { accept: PAGE } });
    expect([shown.statusCode, shown.body, shown.headers['vary']]).toEqual([
      200,
      '<p>/api/thing/3</p>',
      'accept, accept-encoding',
    ]);
    for (const accept of ['application/json', '*/*']) {
      const before = await plain.inject({ url: '/api/thing/3', headers: { accept } });
      const after = await server.inject({ url: '/api/thing/3', headers: { accept } });
      expect(after.body).toBe(before.body);
      expect(after.headers).toMatchObject({ vary: 'accept, accept-encoding', etag: before.headers['etag'] });
      expect(after.headers['content-type']).toBe(before.headers['content-type']);
    }
  });

  it('is not what other parts of the server see', async () => {
    const answer = await sample().server.inject({ url: '/extra', headers: { accept: PAGE } });
    expect(answer.json()).toEqual({ name: 'thing 3' });
  });

  it('answers HEAD, and refuses like everything else', async () => {
    const { server } = sample();
    const head = await server.inject({ method: 'HEAD', url: '/api/thing/3', headers: { accept: PAGE } });
    expect([head.statusCode, head.body, head.headers['content-type']]).toEqual([200, '', PAGE]);
    const refused = await server.inject({ url: '/api/thing/3?limit=4', headers: { accept: PAGE } });
    expect(refused.json()).toMatchObject({ status: 404, reason: 'not_found', detail: 'Not for people.' });
  });

  it('is for reads only', () => {
    expect(() => startSample({ representations: () => ({ makeThing: face }) })).toThrow('makeThing is not');
  });
});
