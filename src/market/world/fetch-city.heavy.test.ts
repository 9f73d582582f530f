import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, it, test } from 'vitest';
import { reasonOf } from '../../../test/support/ask.ts';
import { worldConfig } from '../../../test/support/market-world.ts';
import { recordingLog } from '../../../test/support/recording-log.ts';
import {
  type CityReply,
  offerPath,
  offerRecord,
  residentRecord,
  sendJson,
  startScriptedCity,
} from '../../../test/support/scripted-city.ts';
import { SITE_ANSWER_LIMIT_BYTES } from '../../contract/vocabulary.ts';
import { CityUnavailable, readOffer, readResident } from './city.ts';

const city = await startScriptedCity();
const elsewhere = await startScriptedCity();
afterAll(async () => {
  await city.close();
  await elsewhere.close();
});
beforeEach(() => city.answerAll(null));

const { log, lines } = recordingLog();
const nowhere = { databaseUrl: '', rpcUrl: 'http://127.0.0.1:1', facilitatorUrl: 'http://127.0.0.1:1' };
const market = { config: worldConfig({ ...nowhere, cityUrl: city.url }), log };
const listing = { id: 3n, draftId: 4n, offerId: 7n, thingId: 9n, priceUnits: 4_000_000n };
const wallet = `0x${'ab'.repeat(20)}` as const;
const offer = offerRecord(city, { ...listing, wallet }, { marketOrigin: market.config.baseUrl });
const read = () => readOffer(market, 7n);

async function troubleOf(reply: CityReply): Promise<string> {
  city.answerAll(reply);
  try {
    await read();
  } catch (error) {
    if (error instanceof CityUnavailable) return error.trouble;
    throw error;
  }
  return 'none';
}

describe('a city that says what is', () => {
  it('is read, and further fields are ignored', async () => {
    city.answer(offerPath(7n), { offer: { ...offer, mood: 'good' }, weather: 'fine' });
    expect(await read()).toEqual(offer);
    city.answer('/api/resident/ada', residentRecord('ada', 'seller-one'));
    expect(await readResident(market, 'ada')).toMatchObject({ market_handle: 'seller-one' });
  });

  it('is believed that there is no such thing, when it says so by the name of the error', async () => {
    expect(await readOffer(market, 8n)).toBeNull();
    expect(await readResident(market, 'no-such-resident')).toBeNull();
  });

  it('is asked by GET, without a key and without a cookie', async () => {
    const seen = Promise.withResolvers<{ method: string | undefined; headers: object }>();
    city.answer(offerPath(7n), (response) => {
      seen.resolve({ method: response.req.method, headers: response.req.headers });
      sendJson(response, 200, { offer });
    });
    await read();
    const { method, headers } = await seen.promise;
    expect(method).toBe('GET');
    expect(headers).not.toHaveProperty('authorization');
    expect(headers).not.toHaveProperty('cookie');
  });
});

const bytes = (length: number): string => 'x'.repeat(length);
const sized = (length: number) => ({ offer: { ...offer, padding: bytes(length) } });
const withHead = (status: number, headers: Record<string, string>, body: string | Buffer) => (to: ServerResponse) => {
  to.writeHead(status, headers).end(body);
};
const JSON_TYPE = { 'content-type': 'application/json' };

describe('what cannot be used is no answer', () => {
  test.each<[string, CityReply]>([
    ['ten megabytes', sized(10_485_760)],
    ['one byte too much', sized(SITE_ANSWER_LIMIT_BYTES - JSON.stringify(sized(0)).length + 1)],
    [
      'ten megabytes in ten kilobytes',
      withHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }, gzipSync(JSON.stringify(sized(10_485_760)))),
    ],
    ['a redirect to itself', withHead(302, { location: `${city.url}/elsewhere` }, '')],
    ['a redirect to another site', withHead(307, { location: `${elsewhere.url}/api/world/offer/7` }, '')],
    ['a page', withHead(200, { 'content-type': 'text/html' }, '<!doctype html><title>City</title>')],
    ['half of it', withHead(200, JSON_TYPE, JSON.stringify({ offer }).slice(0, 200))],
    ['nothing', withHead(200, JSON_TYPE, '')],
    ['null', withHead(200, JSON_TYPE, 'null')],
    ['a very deep list', withHead(200, JSON_TYPE, `${'['.repeat(30_000)}${']'.repeat(30_000)}`)],
    ['another offer', { offer: { ...offer, id: 8 } }],
    ['an offer that is none', { offer: { ...offer, phase: 'sold' } }],
    ['an offer without a price', { offer: { ...offer, price_usdc: null } }],
    ['an offer below nothing', { offer: { ...offer, price_usdc: -1 } }],
    ['a wallet that is none', { offer: { ...offer, seller_wallet: '0x1' } }],
    ['a number as text', { offer: { ...offer, thing_id: '9' } }],
    ['the offer under another name', { thing: offer }],
    ['a failure with the record in it', (to) => sendJson(to, 500, { offer })],
    ['a success of another kind', (to) => sendJson(to, 203, { offer })],
    ['a 404 of another server', (to) => sendJson(to, 404, { error: 'Not Found' })],
    ['a 404 page', withHead(404, { 'content-type': 'text/html' }, '<h1>Not Found</h1>')],
    ['a 410 that says not_found', (to) => sendJson(to, 410, { reason: 'not_found' })],
  ])('%s', async (_name, reply) => {
    expect(await troubleOf(reply)).toBe('unusable');
  });

  it('takes exactly as much as is allowed', async () => {
    expect(await troubleOf(sized(SITE_ANSWER_LIMIT_BYTES - JSON.stringify(sized(0)).length))).toBe('none');
  });

  it('a resident of another name', async () => {
    city.answer('/api/resident/bob', residentRecord('eve', 'seller-one'));
    expect(await reasonOf(readResident(market, 'bob'))).toBe('city_unavailable');
  });

  it('and no other site is asked in its place', () => {
    expect(elsewhere.asked).toEqual([]);
  });
});

describe('a city that says nothing', () => {
  it('in time: neither at all, nor bit by bit', { timeout: 10_000 }, async () => {
    const timers: NodeJS.Timeout[] = [];
    const trickle = (to: ServerResponse): void => {
      to.writeHead(200, JSON_TYPE);
      timers.push(setInterval(() => to.write(' '), 100));
    };
    city.answer(offerPath(7n), () => {});
    city.answer(offerPath(8n), trickle);
    const began = performance.now();
    const asked = [read(), readOffer(market, 8n)].map((one) =>
      expect(one).rejects.toMatchObject({ trouble: 'silent' }),
    );
    await Promise.all(asked);
    expect(performance.now() - began).toBeLessThan(5_000);
    for (const timer of timers) clearInterval(timer);
  });

  it('because it hangs up, or is not there', async () => {
    expect(await troubleOf((to) => to.destroy())).toBe('silent');
    const gone = { ...market, config: { ...market.config, cityUrl: 'http://127.0.0.1:1' } };
    await expect(readOffer(gone, 7n)).rejects.toMatchObject({ reason: 'city_unavailable', trouble: 'silent' });
  });
});

it('neither answers nor logs repeat what the city sent', async () => {
  const marked = 'planted-by-the-city';
  for (const reply of [{ offer: { ...offer, phase: marked } }, withHead(200, JSON_TYPE, marked)]) {
    city.answerAll(reply);
    const told: unknown = await read().catch((error) => ({ message: error.message, options: error.options }));
    expect(JSON.stringify(told)).not.toContain(marked);
  }
  expect(JSON.stringify(lines)).not.toContain(marked);
});

it('a market without a city sends no request', async () => {
  const closed = { ...market, config: { ...market.config, cityUrl: null } };
  expect(await reasonOf(readOffer(closed, 7n))).toBe('world_closed');
});
