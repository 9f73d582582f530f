import { expect, test } from 'vitest';
import { hostsOf } from './connection.ts';

test('a URL of several hosts is one URL for each, in their order', () => {
  expect(hostsOf('postgresql://market:w%40rd@one:5432,two,[::1]:6000/books?sslmode=require')).toEqual([
    'postgresql://market:w%40rd@one:5432/books?sslmode=require',
    'postgresql://market:w%40rd@two/books?sslmode=require',
    'postgresql://market:w%40rd@[::1]:6000/books?sslmode=require',
  ]);
  expect(hostsOf('postgres://one,two/books')).toEqual(['postgres://one/books', 'postgres://two/books']);
});

test('a URL of one host, or of a socket, stays as it is', () => {
  for (const url of [
    'postgresql://a,b:w@one/x',
    'postgresql:///x',
    'postgres://u@localhost:5432/x?host=%2Ftmp%2Fa,b',
  ]) {
    expect(hostsOf(url)).toEqual([url]);
  }
});
