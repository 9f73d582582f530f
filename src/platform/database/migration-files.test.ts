import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readMigrations, readSteps, type Step, splitStatements } from './migration-files.ts';

test('statements end at semicolons outside of quotes, bodies and comments', () => {
  const text = `select ';' /* ; */ as "a;b"; -- ;\ncreate function f() returns int language sql as $x$ select 1; $x$;\n\n select 'it''s;'`;
  expect(splitStatements(text)).toEqual([
    `select ';' as "a;b"`,
    'create function f() returns int language sql as $x$ select 1; $x$',
    `select 'it''s;'`,
  ]);
});

/** These migrations were applied before upgrades became rolling. Applied migrations never change, so the rules hold only for later ones. */
const RULES_BEGIN_AFTER = { market: 13, city: 3 };

/** Patterns that apply to tables that existed before the migration. The first group of a pattern is the table. */
const STOPS_OLDER_CODE: readonly RegExp[] = [
  /^(?:drop (?!trigger )|truncate |revoke |lock )/i,
  /^create (?:unique )?index (?!concurrently ).*?\bon (?:only )?(\w+)/i,
  /^(?:update|delete from) (?:only )?(\w+)/i,
  /^with .*?\b(?:update|delete from|insert into) (?:only )?(\w+)/i,
  /^alter table (?:only )?(\w+) .*\b(?:drop (?!not null\b)|rename |set not null\b|(?:set data )?type |(?:en|dis)able trigger\b)/i,
  /^alter table (?:only )?(\w+) add constraint (?!.*\b(?:not valid$|using index\b))/i,
  /^alter table (?:only )?(\w+) .*\badd (?:column )?(?!constraint\b)\w+ (?=[^,]*\bnot null\b)(?![^,]*\bdefault\b)/i,
];

function statementsOf(step: Step): string[] {
  if (step.kind === 'concurrently') return [];
  if (step.kind === 'fill') return /\blimit \d+/i.test(step.text) ? [] : [step.text];
  return splitStatements(step.text);
}

function findStopping(text: string): string[] {
  const statements = readSteps(text).flatMap(statementsOf);
  const added = statements.map((statement) => /^create table (?:if not exists )?(\w+)/i.exec(statement)?.[1]);
  return statements.filter((statement) =>
    STOPS_OLDER_CODE.some((pattern) => {
      const match = pattern.exec(statement);
      return match !== null && (match[1] === undefined || !added.includes(match[1]));
    }),
  );
}

test.each(Object.entries(RULES_BEGIN_AFTER))('later migrations of the %s only add', async (site, last) => {
  const migrations = await readMigrations(fileURLToPath(new URL(`../../../migrations/${site}`, import.meta.url)));
  const later = migrations.slice(last);
  expect(later.length).toBeGreaterThan(0);
  expect(later.flatMap(({ name, text }) => findStopping(text).map((statement) => [name, statement]))).toEqual([]);
});

test.each([
  'drop table listings',
  'create index listings_by_price on listings (price)',
  'update listings set price = 1',
  'alter table listings drop column price',
  'alter table listings alter column price type int8',
  'alter table listings add column c int8 not null',
  'alter table listings add constraint c check (price > 0)',
  '-- fill: prices\nupdate listings set price = 1',
])('%s would stop a market that runs', (text) => {
  expect(findStopping(text)).toHaveLength(1);
});
