import { beforeEach, expect, test } from 'vitest';
import { type SettableClock, settableClock } from '../../../test/support/market-context.ts';
import { recordingLog } from '../../../test/support/recording-log.ts';
import { createDocuments, type Documents } from './client-metadata.ts';

const HOUR = 3_600_000;
const url = 'https://x.example/client.json';
let clock: SettableClock;
let asked: string[];
let answer: (url: string) => Promise<Response>;
let documents: Documents;

beforeEach(() => {
  clock = settableClock(Date.parse('2030-01-01T00:00:00Z'));
  asked = [];
  answer = async (address) => Response.json({ client_id: address });
  documents = createDocuments({ clock, log: recordingLog().log }, async (address) => {
    asked.push(address);
    return await answer(address);
  });
});
const later = (ms: number): void => clock.set(clock.now() + ms);
const fail = async (): Promise<Response> => new Response('', { status: 503 });

test('a document is read once an hour, also when many want it at once', async () => {
  expect(documents.isCached(url)).toBe(false);
  await Promise.all([documents.read(url), documents.read(url), documents.read(url)]);
  later(HOUR - 1);
  expect(documents.isCached(url)).toBe(true);
  expect(await documents.read(url)).toEqual({ client_id: url });
  expect(asked).toHaveLength(1);
  later(1);
  await documents.read(url);
  expect(asked).toHaveLength(2);
});

test('keys are read again after five minutes', async () => {
  answer = async () => Response.json({ keys: [] });
  await documents.read(url);
  later(5 * 60_000);
  await documents.read(url);
  expect(asked).toHaveLength(2);
});

test('while its host fails, the last copy is good for a day', async () => {
  await documents.read(url);
  answer = fail;
  later(24 * HOUR - 1);
  expect(await documents.read(url)).toEqual({ client_id: url });
  later(1);
  await expect(documents.read(url)).rejects.toMatchObject({ why: 'status' });
});

test('a failed host is not called for ten seconds, then tried again', async () => {
  answer = fail;
  await expect(documents.read(url)).rejects.toMatchObject({ why: 'status' });
  expect(documents.isCached(url)).toBe(true);
  later(9_999);
  await expect(documents.read(url)).rejects.toMatchObject({ why: 'status' });
  expect(asked).toHaveLength(1);
  later(1);
  answer = async () => Response.json({ client_id: url });
  expect(await documents.read(url)).toEqual({ client_id: url });
  expect(asked).toHaveLength(2);
});

test('the cache keeps two hundred documents and evicts the least recently used', async () => {
  await documents.read(url);
  for (let nth = 0; nth < 199; nth += 1) await documents.read(`https://x.example/${nth}`);
  await documents.read(url);
  await documents.read('https://x.example/one-more');
  expect(documents.isCached(url)).toBe(true);
  expect(documents.isCached('https://x.example/0')).toBe(false);
  expect(documents.isCached('https://x.example/1')).toBe(true);
});
