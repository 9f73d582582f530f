import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { SABOTAGES } from './list.ts';
import { judgeRun } from './run-tests.ts';
import { withBug } from './sabotage.ts';

const root = resolve(import.meta.dirname, '../..');

test('each sabotage still applies to the code as it is, and changes it', () => {
  const stale = SABOTAGES.flatMap(({ name, edits }) =>
    edits
      .filter((edit) => {
        const text = readFileSync(resolve(root, edit.file), 'utf8');
        const bad = withBug(text, edit);
        return bad === null || bad === text;
      })
      .map(({ file }) => `${name}: ${file}`),
  );
  expect(stale).toEqual([]);
});

/** Returns the SQL function whose body contains the text. */
function functionAround(sql: string, text: string): string | undefined {
  const before = sql.slice(0, sql.indexOf(text));
  const made = [...before.matchAll(/create (?:or replace )?function (\w+)/gi)].at(-1);
  // A function body lies between two `$$`.
  const isInBody = before.slice(made?.index ?? 0).split('$$').length % 2 === 0;
  return isInBody ? made?.[1] : undefined;
}

test('a bug in a migration is in the newest text of its function: in an older one it would change nothing', () => {
  const edits = SABOTAGES.flatMap(({ name, edits: all }) => all.map((edit) => ({ name, ...edit })));
  const outdated = edits.flatMap(({ name, file, find }) => {
    if (!file.startsWith('migrations/')) return [];
    const folder = resolve(root, dirname(file));
    const around = functionAround(readFileSync(resolve(root, file), 'utf8'), find);
    const later = readdirSync(folder).filter((other) => other.endsWith('.sql') && other > basename(file));
    return later
      .filter((other) => {
        const sql = readFileSync(resolve(folder, other), 'utf8');
        return around !== undefined && new RegExp(`create or replace function ${around}\\b`, 'i').test(sql);
      })
      .map((other) => `${name}: ${around} is made again in ${other}`);
  });
  expect(outdated).toEqual([]);
});

test('each has a name of its own, and tests that exist', () => {
  expect(new Set(SABOTAGES.map(({ name }) => name)).size).toBe(SABOTAGES.length);
  expect(SABOTAGES.filter(({ name }) => !/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name))).toEqual([]);
  const files = [...new Set(SABOTAGES.flatMap(({ tests }) => tests))];
  expect(files.filter((file) => !existsSync(resolve(root, file)))).toEqual([]);
  expect(SABOTAGES.filter(({ tests }) => tests.length === 0)).toEqual([]);
});

test('a text that is there twice, or not at all, is not replaced', () => {
  const edit = (find: string) => ({ file: 'any', find, put: 'x' });
  expect(withBug('one two one', edit('two'))).toBe('one x one');
  expect(withBug('one two one', edit('one'))).toBeNull();
  expect(withBug('one two one', edit('three'))).toBeNull();
  expect(withBug('aaa', edit('aa'))).toBeNull();
});

test('only an expectation that does not hold is a bug that was noticed', () => {
  const run = { passed: 7, failures: [], trouble: [], seconds: 1 };
  const failed = (said: string) => ({ ...run, failures: [{ test: 'it pays once', said }] });
  expect(judgeRun('a', failed('AssertionError: expected 2 to be 1'))).toEqual({
    name: 'a',
    outcome: 'caught',
    by: 'it pays once',
    seconds: 1,
  });
  for (const said of ['Error: expected MarketError: x to match object { why }', 'Error: Property failed after 1 tests'])
    expect(judgeRun('a', failed(said)).outcome).toBe('caught');
  expect(judgeRun('a', run).outcome).toBe('missed');
  expect(judgeRun('a', { ...run, passed: 0 }).outcome).toBe('broken');
  expect(judgeRun('a', failed('TypeError: pay is not a function')).outcome).toBe('broken');
  expect(judgeRun('a', failed('Error: Test timed out in 30000ms.')).outcome).toBe('broken');
  expect(judgeRun('a', { ...run, trouble: ['pay.test.ts: SyntaxError'] })).toMatchObject({
    outcome: 'broken',
    by: 'pay.test.ts: SyntaxError',
  });
});
