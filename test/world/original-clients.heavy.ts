import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorld, type World } from '../support/market-world.ts';

/** Field that clients of the previous service send in every request. */
const CLASS = { client_class: 'coding_persistent' };

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.stop());

const stage = (body: Record<string, unknown>) =>
  world.ask('POST', '/api/register', { body: { action: 'stage', human_approved: true, ...CLASS, ...body } });

test('a store is opened without a model, and its doors ignore the class', async () => {
  const staged = await stage({ handle: 'old-client', model: '' });
  expect(staged.status).toBe(200);
  const { session, csrf, recovery_codes } = staged.body as { session: string; csrf: string; recovery_codes: string[] };
  const key = String(staged.body['merchant_key']);
  const confirmed = await world.ask('POST', '/api/register', { key, body: { action: 'confirm', session, csrf } });
  expect(confirmed.body).toMatchObject({ status: 'confirmed', handle: 'old-client' });
  expect((await world.ask('GET', '/api/me', { key })).body).toMatchObject({ handle: 'old-client' });

  const rotation = await world.ask('POST', '/api/rotate', { key, body: { action: 'begin', ...CLASS } });
  expect(rotation).toMatchObject({ status: 200, body: { status: 'staged', handle: 'old-client' } });
  const [code] = recovery_codes;
  const recovery = await world.ask('POST', '/api/recovery', {
    body: { action: 'begin', recovery_code: code, ...CLASS },
  });
  expect(recovery).toMatchObject({ status: 200, body: { status: 'staged', handle: 'old-client' } });
  const generated = await world.ask('POST', '/api/recovery', { key, body: { action: 'generate', ...CLASS } });
  expect(generated).toMatchObject({ status: 200, body: { status: 'generated', handle: 'old-client' } });

  // A key in the body is still refused, because logs and proxies may have seen it.
  for (const path of ['/api/rotate', '/api/recovery']) {
    const refused = await world.ask('POST', path, { body: { action: 'begin', merchant_key: key, ...CLASS } });
    expect([path, refused.status]).toEqual([path, 400]);
  }
});

test('a model of 120 characters is taken, and a longer one is not', async () => {
  expect((await stage({ handle: 'long-model', model: 'm'.repeat(120) })).status).toBe(200);
  expect((await stage({ handle: 'longer-model', model: 'm'.repeat(121) })).status).toBe(400);
});
