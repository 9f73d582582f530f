import { expect, test } from 'vitest';
import { importsOf } from './imports-of.ts';
import { openTexts, type Source } from './open-sources.ts';
import { exportedValues, functionLines, isBarrel, untidyUses } from './tidy-uses.ts';
import { processUses, signingUses, sqlUses, worldUses } from './world-uses.ts';

function open(text: string): Source {
  const [source] = openTexts({ 'src/a/b.ts': text });
  if (source === undefined) throw new Error('not parsed');
  return source;
}

function briefOf(found: { line: number; what: string }[]): string[] {
  return found.map(({ line, what }) => `${line} ${what}`);
}

test('every form of import is seen, types and side effects too', () => {
  const source = open(`import one from './one.ts';
import type { Two } from '../two.ts';
import { type Three } from '../../three.ts';
export { four } from './four.ts';
export type * from './five.ts';
export * as six from './six.ts';
import './seven.ts';
const eight = await import('./eight.ts');
const nine = require(\`./nine.ts\`);
let ten: import('./ten.ts').Ten;
import eleven = require('./eleven.ts');
let twelve: typeof import('twelve');
const thirteen = await import(one + '.ts');
const fourteen = new URL('../c/fourteen.ts', import.meta.url);
`);
  expect(importsOf(source).map(({ to, line, inside }) => `${line} ${to}${inside ? '' : ' outside'}`)).toEqual([
    '1 src/a/one.ts',
    '2 src/two.ts',
    '3 three.ts',
    '4 src/a/four.ts',
    '5 src/a/five.ts',
    '6 src/a/six.ts',
    '7 src/a/seven.ts',
    '8 src/a/eight.ts',
    '9 src/a/nine.ts',
    '10 src/a/ten.ts',
    '11 src/a/eleven.ts',
    '12 twelve outside',
    '13 (computed) outside',
    '14 src/c/fourteen.ts',
  ]);
});

test('words in comments, strings and names of members are no import', () => {
  const source = open(`// import x from './x.ts'
const text = "import y from './y.ts'"; const quoted = \`import('./z.ts')\`;
loader.import('./w.ts'); loader.require('./v.ts'); export const a = 1; export { text };
new URL('./data/', import.meta.url); new URL('/u.ts', base);
`);
  expect(importsOf(source)).toEqual([]);
});

test('a function counts from its first word to its brace, whatever the text inside looks like', () => {
  const source = open(`/** Not counted. */
export function outer(a: { b: string } = { b: '}' }): void {
  const pattern = /[{]\\/{/; // }
  const text = \`{ \${a.b + \`}\`} {\`;
  const inner = () => {
    return text;
  };
}
class Box {
  get size(): number { return 1; }
  constructor() {
  }
}
declare function ambient(): void;
const short = (x: number) => x;
export default async function* () {
}
`);
  expect(functionLines(source)).toEqual([
    { name: 'outer', line: 2, lines: 7 },
    { name: 'inner', line: 5, lines: 3 },
    { name: 'size', line: 10, lines: 1 },
    { name: '(unnamed)', line: 11, lines: 2 },
    { name: 'short', line: 15, lines: 1 },
    { name: '(unnamed)', line: 16, lines: 2 },
  ]);
});

test('each way to the clock, to chance, to timers and to the network is seen', () => {
  const source = open(`import { randomBytes as chance, createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { connect, isIP } from 'node:net';
const now = Date.now(); const later = new Date(); const text = Date();
const roll = Math.random();
const mark = performance.now();
await fetch('x'); await globalThis.fetch('y');
const get = fetch;
setTimeout(() => {}, 1); setInterval(run, 1);
const id = crypto.randomUUID();
const signal = AbortSignal.timeout(5);
const given = { fetch };
import { generatePrivateKey } from 'viem/accounts';
`);
  expect(briefOf(worldUses(source))).toEqual([
    '1 randomBytes of node:crypto',
    '2 node:timers/promises',
    '3 connect of node:net',
    '4 Date.now',
    '4 new Date()',
    '4 Date()',
    '5 Math.random',
    '6 performance.now',
    '7 fetch',
    '7 fetch',
    '8 fetch',
    '9 setTimeout',
    '9 setInterval',
    '10 crypto.randomUUID',
    '11 AbortSignal.timeout',
    '12 fetch',
    '13 generatePrivateKey of viem/accounts',
  ]);
});

test('what is handed in, and a date made of a known time, is not the world', () => {
  const source = open(`import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { Server } from 'node:http';
interface Means { fetch(url: string): void; setTimeout: number }
const means: Means = { fetch: (url) => {}, setTimeout: 1 };
means.fetch('x'); clock.now(); random.bytes(3); new Date(5); new Date(clock.now());
function ask({ fetch: get }: { fetch: () => void }) { get(); }
// Date.now() and fetch('x')
const text = 'Math.random()';
`);
  expect(worldUses(source)).toEqual([]);
});

test('SQL, signing and processes are seen by what makes them', () => {
  const source = open(`import sql, { type Sql } from 'sql-template-tag';
import type { Client } from 'pg';
client.query('select 1'); const { query } = call; call.query.limit;
import { privateKeyToAccount } from 'viem/accounts';
wallet.signTypedData({});
import { recoverTypedDataAddress } from 'viem';
import { spawn } from 'node:child_process';
`);
  expect(briefOf(sqlUses(source))).toEqual(['1 sql-template-tag', '2 pg', '3 .query(']);
  expect(briefOf(signingUses(source))).toEqual(['4 viem/accounts', '4 privateKeyToAccount', '5 signTypedData']);
  expect(briefOf(processUses(source))).toEqual(['7 node:child_process']);
});

test('a chapter of a test file is no function, the tests in it are', () => {
  const source = open(`describe('a', () => {
  test('b', () => {
  });
});
describe.each([1])('c', () => { it('d', () => 1); });
`);
  expect(functionLines(source).map(({ line, lines }) => [line, lines])).toEqual([
    [2, 2],
    [5, 1],
  ]);
});

test('what makes a file untidy is seen in code, not in text about it', () => {
  const source = open(`const a = b as any; let c: any[]; d!.e; f = g!;
console.log(1); console.error(2); console.table(3);
test.only('x', () => {}); describe.skip('y', () => {}); it.concurrent.only('z'); test.todo('w');
test.skipIf(true)('v', () => {}); pages.skip(3); // as any, console.log, test.only
const text = 'console.log(any) test.only';
`);
  expect(briefOf(untidyUses(source))).toEqual([
    '1 any',
    '1 any',
    '1 non-null assertion',
    '1 non-null assertion',
    '2 console.log',
    '2 console.table',
    '3 test.only',
    '3 describe.skip',
    '3 it.only',
    '3 test.todo',
  ]);
});

test('a barrel only passes on; a file with anything of its own is none', () => {
  expect(isBarrel(open(`export * from './a.ts';\nexport { b } from './b.ts';`))).toBe(true);
  expect(isBarrel(open(`export * from './a.ts';\nexport const b = 1;`))).toBe(false);
  expect(isBarrel(open(`import { a } from './a.ts';\nexport { a };`))).toBe(false);
});

test('exported functions and constants are named, types and inner names are not', () => {
  const source = open(`export const a = 1, b = () => { const inner = 2; };
export async function c() {}
function d() {}
export interface E {}
export type F = string;
`);
  expect(exportedValues(source)).toEqual(['a', 'b', 'c']);
});
