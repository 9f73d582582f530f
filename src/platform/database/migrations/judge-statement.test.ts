import { expect, test } from 'vitest';
import { judgeStatement, type Made } from './judge-statement.ts';
import { splitList, splitStatements } from './migration-files.ts';

const made = (): Made => ({ tables: new Set(), functions: new Set() });

function verdictOf(text: string, kind: 'transaction' | 'concurrently' | 'fill' = 'transaction'): string {
  const before = made();
  return splitStatements(text)
    .map((statement) => judgeStatement(statement, kind, before).verdict)
    .join(' ');
}

test('statements end at semicolons outside of quotes, bodies and comments', () => {
  const text = `select ';' /* ; */ as "a;b"; -- ;\ncreate function f() returns int language sql as $x$ select 1; $x$;\n\n select 'it''s;'`;
  expect(splitStatements(text)).toEqual([
    `select ';' as "a;b"`,
    'create function f() returns int language sql as $x$ select 1; $x$',
    `select 'it''s;'`,
  ]);
  expect(splitList(`a int default f(1, 2), b text default ',', c int`)).toEqual([
    'a int default f(1, 2)',
    `b text default ','`,
    'c int',
  ]);
});

test.each([
  'create table n (id int8 primary key, t int8 references listings)',
  'create table n (id int8); create index on n (id); create unique index n_id on n (id); insert into n values (1); update n set id = 2; alter table n add check (id > 0)',
  'create table n (id int8); create function g() returns trigger language plpgsql as $$ begin end $$; create trigger t before insert on n for each row execute function g()',
  'alter table listings add column c int8',
  'alter table listings add column if not exists c int8, add column d text default null',
  "alter table listings add c int not null default 0, add column e timestamptz default now(), add column f text not null default 'a, (b)'",
  'alter table listings validate constraint c',
  'alter table listings set (fillfactor = 90)',
  'create type mood as enum ()',
])('only adds: %s', (text) => {
  expect(new Set(verdictOf(text).split(' '))).toEqual(new Set(['additive']));
});

test.each([
  'create or replace function note_listing() returns trigger language plpgsql as $$ begin drop table listings; end $$',
  'create trigger t before insert on listings for each row execute function f()',
  'create or replace trigger t before insert on listings for each row execute function f()',
  'drop trigger t on listings',
  'alter table listings add constraint c check (price > 0) not valid',
  'alter table listings add constraint c foreign key (a) references n (id) not valid',
  'alter table listings alter column a drop not null',
  "alter table listings alter column a set default 'x'",
  'insert into listings values (1)',
  'create table if not exists n (id int8)',
  'do $$ begin end $$',
  'select setval(1)',
])('is for a person to read: %s', (text) => {
  expect(verdictOf(text)).toBe('look');
});

test.each([
  'drop table listings',
  'drop index listings_of',
  'drop function f',
  'alter table listings drop column a',
  'alter table listings rename to l',
  'alter table listings rename column a to b',
  'alter table listings alter column a type int8',
  'alter table listings alter a set data type int8',
  'alter table listings alter column a set not null',
  'alter table listings alter column a drop default',
  'alter table listings add column c int8 not null',
  'alter table listings add column c int8, add column d int8 not null',
  'alter table listings add column c uuid default gen_random_uuid()',
  'alter table listings add column c timestamptz not null default clock_timestamp()',
  'alter table listings add column c int8 generated always as identity',
  'alter table listings add column c bigserial',
  'alter table listings add column c int8 references n',
  'alter table listings add column c int8 unique',
  'alter table listings add column c int8 check (c > 0)',
  'alter table listings add constraint c check (price > 0)',
  'alter table listings add constraint c unique (a)',
  'alter table listings add check (price > 0)',
  'alter table listings add foreign key (a) references n',
  'alter table listings disable trigger t',
  'ALTER TABLE ONLY public.listings DROP COLUMN a',
  'create index l on listings (a)',
  'create unique index l on listings (a)',
  'create index concurrently l on listings (a)',
  'update listings set a = 1',
  'with x as (select 1) update listings set a = 1',
  'delete from listings',
  'truncate listings',
  'lock table listings',
  'revoke select on listings from openaisle_app',
])('stops or breaks what runs: %s', (text) => {
  expect(verdictOf(text)).toBe('refused');
});

test('what runs concurrently or in batches is judged as that', () => {
  expect(verdictOf('create index concurrently l on listings (a)', 'concurrently')).toBe('additive');
  expect(verdictOf('create unique index concurrently l on listings (a)', 'concurrently')).toBe('look');
  const batch = 'select id from listings where a is null limit 500';
  expect(verdictOf(`update listings set a = 1 where id in (${batch})`, 'fill')).toBe('additive');
  expect(verdictOf(`with b as (${batch}) update listings l set a = 1 from b where b.id = l.id`, 'fill')).toBe(
    'additive',
  );
  expect(verdictOf('update listings set a = 1 where a is null', 'fill')).toBe('refused');
  expect(verdictOf('delete from listings where id in (select id from listings limit 5)', 'fill')).toBe('refused');
});
