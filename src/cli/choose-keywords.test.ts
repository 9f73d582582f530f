import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SELLER } from '../../test/support/market-answers.ts';
import { type ScriptedMarket, startScriptedMarket } from '../../test/support/scripted-market.ts';
import { systemRandom } from '../platform/random.ts';
import { makeMerchantKey } from '../platform/secrets.ts';
import { run } from './run.ts';
import { openTerminal, type Streams } from './terminal.ts';

let home = '';
let market: ScriptedMarket;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'openaisle-keywords-'));
  market = await startScriptedMarket(() => ({ status: 200, body: { dry_run: true, would_cost_usdc: 1 } }));
  await mkdir(join(home, 'skill', 'parts'), { recursive: true });
  await writeFile(join(home, 'skill', 'SKILL.md'), '# Invoices\n## Reconcile ledgers\n');
  await writeFile(join(home, 'skill', 'parts', 'readme.md'), '# DATEV\n');
  await writeFile(join(home, 'skill', 'notes.md'), '# Unread\n');
  await writeFile(join(home, 'table.csv'), '# Heading\n');
});
afterAll(async () => {
  await market[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

/** Runs a dry run of `sell`. With `typed` a person is at the terminal and answers so. Returns what the market got and the person saw. */
async function sell(more: readonly string[], { typed, path = 'skill' }: { typed?: string; path?: string } = {}) {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const streams = { stdin: Readable.from(['']), stdout: nowhere, stderr: nowhere } as unknown as Streams;
  let [shown, printed] = ['', ''];
  const questions: string[] = [];
  const about = ['--title', 'Invoice reader', '--price', '1', '--description', 'How to.', '--seller-wallet', SELLER];
  const before = market.seen.length;
  const code = await run({
    argv: ['sell', join(home, path), ...about, '--dry-run', '--key-stdin', ...more],
    version: 'test',
    env: { HOME: home, OPENAISLE_MARKET: market.baseUrl },
    terminal: {
      ...openTerminal(streams),
      canAsk: typed !== undefined,
      ask: async (question) => {
        questions.push(question);
        return typed ?? '';
      },
      readSecret: async () => makeMerchantKey(systemRandom, 'aisle'),
    },
    out: (text) => {
      printed += text;
    },
    err: (text) => {
      shown += text;
    },
    interruption: () => AbortSignal.timeout(5_000),
  });
  const sent = market.seen.slice(before).find(({ method }) => method === 'POST')?.body as object | undefined;
  return { code, sent, shown, printed, questions };
}

const PROPOSED = ['reconcile', 'ledgers', 'DATEV'];

test('at a terminal the proposals are shown: Enter takes them, a list replaces them, - leaves them out', async () => {
  const taken = await sell([], { typed: '' });
  expect([taken.code, taken.sent]).toEqual([0, expect.objectContaining({ keywords: PROPOSED })]);
  expect(taken.shown).toContain(`Public keywords, from the goods: ${PROPOSED.join(', ')}\n`);
  expect(taken.questions).toEqual([expect.stringContaining('Press Enter')]);
  const replaced = await sell([], { typed: ' late payments,dunning , ' });
  expect(replaced.sent).toMatchObject({ keywords: ['late payments', 'dunning'] });
  expect((await sell([], { typed: '-' })).sent).not.toHaveProperty('keywords');
});

test('nobody is asked with --json or without a terminal, and no keyword is sent unless an option says so', async () => {
  for (const [more, typed] of [
    [['--json'], ''],
    [[], undefined],
  ] as const) {
    const { sent, questions } = await sell(more, typed === undefined ? {} : { typed });
    expect(sent).not.toHaveProperty('keywords');
    expect(questions).toEqual([]);
  }
  const suggested = await sell(['--suggest-keywords', '--json']);
  expect(suggested.sent).toMatchObject({ keywords: PROPOSED });
  expect(JSON.parse(suggested.printed)).toMatchObject({ dry_run: true, keywords: PROPOSED });
  expect((await sell(['--suggest-keywords'])).shown).toContain(PROPOSED.join(', '));
});

test('named keywords are sent as they are, and - as none; both ways at once are refused', async () => {
  const named = await sell(['--keyword', 'late payments', '--keyword', 'csv'], { typed: 'other' });
  expect([named.sent, named.questions]).toEqual([expect.objectContaining({ keywords: ['late payments', 'csv'] }), []]);
  expect((await sell(['--keyword', '-'], { typed: 'other' })).sent).toMatchObject({ keywords: [] });
  const both = await sell(['--keyword', 'csv', '--suggest-keywords']);
  expect([both.code, both.shown]).toEqual([2, expect.stringContaining('can’t be combined')]);
});

test('goods without a text about themselves propose nothing, and nobody is asked', async () => {
  const { sent, questions } = await sell([], { typed: 'other', path: 'table.csv' });
  expect([sent, questions]).toEqual([expect.not.objectContaining({ keywords: expect.anything() }), []]);
  expect((await sell(['--suggest-keywords'], { path: 'table.csv' })).shown).toContain('suggest no keywords');
});
