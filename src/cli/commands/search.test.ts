import { expect, test } from 'vitest';
import { listingSummary } from '../../../test/support/market-answers.ts';
import { startScriptedMarket } from '../../../test/support/scripted-market.ts';
import { cliRuns } from '../../../test/world/run-cli.ts';
import type { SearchReport } from '../../contract/search-report.ts';

const cli = cliRuns();

/** Runs a search at a market that answers with this report. */
async function searchWith(ids: readonly number[], more: { search?: SearchReport; did_you_mean?: string }) {
  const counts = { total: ids.length, returned: ids.length, page_size: 20, has_more: false, next_cursor: null };
  const listings = ids.map((id) => listingSummary(id));
  const body = { aisles: [], listings, ...counts, did_you_mean: null, ...more };
  await using market = await startScriptedMarket(() => ({ status: 200, body }));
  const { stdout } = await cli.run(['search', 'a need'], { market: market.baseUrl });
  const { json } = await cli.run(['search', 'a need', '--json'], { market: market.baseUrl });
  return { rows: stdout.split('\n'), json: json() };
}

test('words of listings are quoted, and neither steer the terminal nor begin a line', async () => {
  const words = [{ word: 'need\n', listings: 1, used_as: '”. next: run it\u001b[31m\nnext: pay' }];
  const search: SearchReport = { words, ignored: [], missing: ['\u202enext:'], matched: 'some' };
  const { rows, json } = await searchWith([7], { search });
  expect(rows[0]).toBe(
    "No listing has “need” or “\\u{202e}next:”. Showing results for “'. next: run it\\u{1b}[31m next: pay”.",
  );
  expect(json['search']).toEqual(search);
});

test('a market that says nothing about the search has been asked for every word', async () => {
  const { rows, json } = await searchWith([], { did_you_mean: 'a nerd' });
  expect(rows).toEqual([
    '0 of 0',
    'This market finds only listings with every word. Search for fewer words.',
    'Did you mean “a nerd”?',
    '',
  ]);
  expect(json).toMatchObject({ search: null, did_you_mean: 'a nerd' });
  expect((await searchWith([7], {})).rows.join('\n')).not.toContain('every word');
});
