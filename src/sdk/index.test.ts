import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as sdk from './index.ts';

const read = (name: string): string => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');

test('docs/sdk.md tells of every error that a program can meet', () => {
  const [, section = ''] = /\n## Errors\n([\s\S]*?)\n## /.exec(read('sdk.md')) ?? [];
  const told = [...section.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  );
  const classes = Object.entries(sdk).filter(([, one]) => typeof one === 'function' && one.prototype instanceof Error);
  expect(told.toSorted()).toEqual(classes.map(([name]) => name).toSorted());
});

test('a client has a method for each operation of the interface but the stream, for which there is followEvents', () => {
  const { paths } = JSON.parse(read('reference/openapi.json')) as { paths: Record<string, Record<string, object>> };
  const operations = Object.values(paths)
    .flatMap((path) => Object.values(path))
    .flatMap((one) => ('operationId' in one ? [String(one.operationId)] : []));
  const client = sdk.createClient({ baseUrl: 'https://market.example' });
  expect(operations.filter((name) => !(name in client))).toEqual(['streamEvents']);
  expect(read('sdk.md')).toMatch(/`streamEvents`[^.]*\[`followEvents`\]/);
});
