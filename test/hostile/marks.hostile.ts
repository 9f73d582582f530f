import { request } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import { ARTIFACT_BODY_LIMIT_BYTES } from '../../src/contract/listings.ts';
import { BODY_LIMIT_BYTES } from '../../src/contract/vocabulary.ts';
import { createClient } from '../../src/sdk/client.ts';
import { processorMsOf } from '../support/bounds/processor-of.ts';
import { attackedMarket, startHonest } from './strangers.ts';

const READS = ['/healthz', '/api/shelves'];
const ROUNDS = 6;
/** CPU limit for one request, in milliseconds. */
const MAX_MS = 50;

/** Returns a letter followed by combining marks, alternating between two classes, of at most that many bytes. */
const marks = (bytes: number): string => `a${'\u0301\u0316'.repeat(Math.floor(bytes / 4))}`;
const lineEnds = (bytes: number): string => `${'\n'.repeat(Math.floor(bytes / 2))}!`;

describe('a market that is sent texts of nothing but marks, or line ends', () => {
  const market = attackedMarket(READS);
  let key = '';
  const stage = {
    action: 'stage',
    handle: 'a-minute-ago',
    model: 'a program',
    client_class: 'coding_persistent',
    human_approved: true,
  } as const;
  beforeAll(async () => {
    const client = createClient({ baseUrl: `http://127.0.0.1:${market.port}` });
    const { body } = await client.register({ body: stage });
    if (body.status !== 'staged') throw new Error('not staged');
    key = body.merchant_key;
    await client.register({ key, body: { action: 'confirm', session: body.session, csrf: body.csrf } });
  });

  /** Attacks repeatedly while honest clients send requests. Returns the statuses of the attacks. */
  async function attackBesideClients(attack: () => Promise<number>): Promise<number[]> {
    const honest = startHonest(market.port, READS);
    const statuses: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) statuses.push(await attack());
    const { refused, slow, answered } = await honest.end();
    expect(refused).toEqual([]);
    expect(slow).toBe(0);
    expect(answered).toBeGreaterThan(0);
    return statuses;
  }

  test.each([
    ['marks', marks],
    ['line ends', lineEnds],
  ])('refuses a registration with a model of %s at once, and honest clients notice nothing', async (_, fill) => {
    // Each line feed takes two bytes in JSON.
    const body = JSON.stringify({ ...stage, model: fill(BODY_LIMIT_BYTES - 1_000) });
    const attack = (): Promise<number> => send(market.port, 'POST', '/api/register', { body });
    const alone: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const before = processorMsOf(market.pid);
      await attack();
      alone.push(processorMsOf(market.pid) - before);
    }
    expect(Math.min(...alone)).toBeLessThan(MAX_MS);
    const statuses = await attackBesideClients(attack);
    expect(new Set(statuses)).toEqual(new Set([400]));
  });

  test.each([
    ['a new listing', 'POST', '/api/listing'],
    ['an edit', 'PATCH', '/api/listing/1'],
  ])('refuses %s with a mebibyte of marks from a merchant of a minute ago', async (_, method, path) => {
    for (const field of ['title', 'description', 'preview', 'artifact_filename']) {
      const body = JSON.stringify({ [field]: marks(ARTIFACT_BODY_LIMIT_BYTES - 1_000) });
      const statuses = await attackBesideClients(() => send(market.port, method, path, { body, key }));
      expect(new Set(statuses)).toEqual(new Set([400]));
    }
  });

  test('serves on after a header that is nested as deeply as it may be', async () => {
    const nested = Buffer.from('['.repeat(5_500) + ']'.repeat(5_500)).toString('base64');
    for (const name of ['x-payment', 'payment-signature', 'x-delivery-token', 'x-recovery-slip']) {
      expect(await send(market.port, 'GET', '/api/shelves', { headers: { [name]: nested } })).toBe(200);
    }
    expect(await send(market.port, 'GET', '/healthz', {})).toBe(200);
  });
});

function send(
  port: number,
  method: string,
  path: string,
  { body, key, headers = {} }: { body?: string; key?: string; headers?: Record<string, string> },
): Promise<number> {
  const bearer = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const described =
    body === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, method, localAddress: '127.4.0.1', agent: false };
    const sent = request({ ...options, headers: { ...headers, ...bearer, ...described } }, (answer) => {
      answer.resume();
      answer.once('end', () => resolve(answer.statusCode ?? 0));
    });
    sent.once('error', reject);
    sent.end(body);
  });
}
