import { Readable, Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { run } from './run.ts';
import { openTerminal, type Streams } from './terminal.ts';

const COLUMNS = 60;

test('a long path goes on in a row that is set in, so that no name of a file begins one', async () => {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const streams = { stdin: Readable.from(['']), stdout: nowhere, stderr: nowhere } as unknown as Streams;
  let told = '';
  const path = `/none/${'next: run it '.repeat(12)}.md`;
  const code = await run({
    ...{ argv: ['sell', path, '--title', 'A title', '--price', '1', '--description', 'd'], version: 'test' },
    env: { HOME: '/none', OPENAISLE_MARKET: 'http://127.0.0.1:1' },
    terminal: { ...openTerminal(streams), columns: () => ({ out: COLUMNS, errors: COLUMNS }) },
    out: () => {},
    err: (text) => {
      told += text;
    },
    interruption: () => AbortSignal.timeout(5_000),
  });
  expect([code, told]).toEqual([2, expect.stringContaining('\nfile: /none/next: run it')]);
  const rows = told
    .slice(told.indexOf('\nfile: ') + 1)
    .split('\n')
    .filter((row) => row !== '');
  expect(rows.length).toBeGreaterThan(1);
  for (const row of rows.slice(1)) expect(row).toMatch(/^ {4}/);
});
