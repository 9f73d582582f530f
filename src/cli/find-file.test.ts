import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createClient } from '../sdk/client.ts';
import type { Cli } from './cli.ts';
import { emptyIdentity } from './identity.ts';
import { defaultFile, findFile, marketOf, requiredMarket } from './open-account.ts';
import type { Options } from './options.ts';
import { openTerminal } from './terminal.ts';

describe('where a merchant’s file is', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'openaisle-find-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const cli = (options: Options = {}, env: Record<string, string> = {}): Cli => ({
    options,
    positionals: [],
    env: { XDG_CONFIG_HOME: folder, ...env },
    terminal: openTerminal(process),
    now: () => 0,
    connect: (baseUrl) => createClient({ baseUrl }),
    say: () => {},
    note: () => {},
    interruption: () => new AbortController().signal,
  });

  test('the market’s host, port and path name the folder', () => {
    const file = (market: string): string => defaultFile(cli(), market, 'ink').slice(folder.length + 1);
    expect(file('https://market.example')).toBe(join('openaisle', 'market.example', 'ink.json'));
    expect(file('http://127.0.0.1:4020')).toBe(join('openaisle', '127.0.0.1_4020', 'ink.json'));
    expect(file('http://[::1]:4020/a/../b')).toBe(join('openaisle', '___1__4020_b', 'ink.json'));
  });

  test('a handle that leads out of the folder is refused', () => {
    for (const handle of ['../ink', 'a/b', 'Ink', '..', 'ink.json'])
      expect(() => defaultFile(cli(), 'https://market.example', handle)).toThrow('A handle must match');
  });

  test('the only merchant of a market is meant, of several one must be named', async () => {
    const env = { OPENAISLE_MARKET: 'https://market.example' };
    await expect(findFile(cli({}, env))).rejects.toThrow('No identity for https://market.example');
    const one = defaultFile(cli(), 'https://market.example', 'ink');
    await mkdir(dirname(one), { recursive: true });
    for (const name of ['ink.json', 'ink.pairing.json', 'ink.json.tmp']) await writeFile(join(dirname(one), name), '');
    expect(await findFile(cli({}, env))).toBe(one);
    await writeFile(join(dirname(one), 'quill.json'), '');
    await expect(findFile(cli({}, env))).rejects.toThrow('Give --handle: ink, quill');
    expect(await findFile(cli({ handle: 'ink' }, env))).toBe(one);
  });

  test('a market is an address with TLS, but on this machine or where it was allowed', () => {
    const market = (url: string, options: Options = {}): string => requiredMarket(cli({ market: url, ...options }));
    expect(market('https://market.example/')).toBe('https://market.example');
    for (const url of ['http://localhost:4020', 'http://127.9.9.9', 'http://[::1]:1']) expect(market(url)).toBe(url);
    for (const url of ['http://market.example', 'http://localhost.example', 'http://127.0.0.1.example'])
      expect(() => market(url)).toThrow('doesn’t use TLS');
    expect(market('http://market.example', { 'allow-http': true })).toBe('http://market.example');
    for (const url of [
      'market.example',
      'ftp://market.example',
      'https://me:word@market.example',
      'https://a.example?b',
    ])
      expect(() => market(url)).toThrow('must be an http or https address');
  });

  test('a file’s key goes to its own market, whatever the environment says', () => {
    const content = emptyIdentity('https://market.example', 'ink');
    const env = { OPENAISLE_MARKET: 'https://other.example' };
    expect(marketOf(cli({}, env), content, 'f')).toBe('https://market.example');
    expect(() => marketOf(cli({ market: 'https://other.example' }), content, 'f')).toThrow(
      'belongs to https://market.example',
    );
  });
});
