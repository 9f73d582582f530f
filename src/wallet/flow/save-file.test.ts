import { expect, it } from 'vitest';
import { problem } from '../../../test/support/market-answers.ts';
import { systemEnvironment } from '../../sdk/environment.ts';
import type { DeliveredGoods } from '../../sdk/goods/download.ts';
import type { FileState } from '../show/view.ts';
import { saveFile } from './save-file.ts';

const MARKET = 'https://market.example';
const TOKEN = 'oa_dl_of-this-test';

function goodsAt(url: string): DeliveredGoods {
  const download = {
    ...{ url, bytes: 1_000, media_type: 'application/zip', filename: 'pack.zip', sha256: `0x${'1'.repeat(64)}` },
    ...{ download_token: TOKEN, expires_at: '2026-01-05T13:00:00Z' },
  };
  return {
    ...{ listing_id: 7, title: 'A pack', artifact: null, download, artifact_encoding: 'base64' },
    ...{ artifact_media_type: 'application/zip', artifact_filename: 'pack.zip', artifact_salt: `0x${'2'.repeat(64)}` },
    ...{ license: null, purchase: null, receipt: null, do_not_pay_again: true },
  } as DeliveredGoods;
}

/** Saves goods from a network that answers by `fetch`. Returns the last state shown, and the requests. */
async function saveFrom(fetch: (url: string) => Promise<Response>, url = `${MARKET}/api/download/7`) {
  const asked: { url: string; token: string | null }[] = [];
  const shown: FileState[] = [];
  const environment = {
    ...systemEnvironment,
    fetch: (address: string, init: RequestInit) => {
      asked.push({ url: address, token: new Headers(init.headers).get('x-download-token') });
      return fetch(address);
    },
    // The network is fake, so there is nothing to wait for.
    sleep: async () => {},
  };
  const client = { baseUrl: MARKET, environment };
  await saveFile({
    scene: { client: client as unknown as Parameters<typeof saveFile>[0]['scene']['client'] },
    view: { delivery: goodsAt(url), record: null, published: `0x${'3'.repeat(64)}` },
    signal: new AbortController().signal,
    showState: (state) => void shown.push(state),
  });
  return { asked, last: shown.at(-1) };
}

it('says that the connection broke, after it was tried often', async () => {
  const { asked, last } = await saveFrom(() => Promise.reject(new TypeError('Failed to fetch')));
  expect(asked.length).toBeGreaterThan(5);
  expect(asked[0]).toEqual({ url: `${MARKET}/api/download/7`, token: TOKEN });
  const words = 'The connection broke. Save again: nothing is paid.';
  expect(last).toEqual({ kind: 'stopped', words, mustCollect: false });
});

it('offers to collect again when the token has ended', async () => {
  const headers = { 'content-type': 'application/problem+json' };
  const body = JSON.stringify(problem('sign_to_collect'));
  const { asked, last } = await saveFrom(async () => new Response(body, { status: 409, headers }));
  expect(asked).toHaveLength(1);
  expect(last).toMatchObject({ kind: 'stopped', mustCollect: true });
});

it.each(['https://evil.example/api/download/7', `${MARKET}.evil.example/x`, '//evil.example/x', `${MARKET}/a?b=c`])(
  'sends nothing to %s, but asks the market',
  async (url) => {
    const { asked } = await saveFrom(() => Promise.reject(new TypeError('Failed to fetch')), url);
    expect(new Set(asked.map((one) => one.url))).toEqual(new Set([`${MARKET}/api/download/7`]));
  },
);
