import { expect, it } from 'vitest';
import { NETWORKS } from '../contract/vocabulary.ts';
import { ConfigError } from '../platform/config.ts';
import { readFacilitatorConfig } from './config.ts';

const complete = { FACILITATOR_RPC_URL: 'http://127.0.0.1:8545', FACILITATOR_KEY_FILE: 'key' };

function faultsOf(env: Record<string, string>): readonly string[] {
  try {
    readFacilitatorConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}

it('fills in what may be left out', () => {
  expect(readFacilitatorConfig({ ...complete, PATH: 'anything' })).toEqual({
    host: '127.0.0.1',
    port: 4021,
    network: NETWORKS.base,
    rpcUrl: 'http://127.0.0.1:8545',
    keyFile: 'key',
    dataDir: './data',
  });
});

it('names everything that is wrong at once, and never a value', () => {
  const faults = faultsOf({
    FACILITATOR_RPC_URL: 'ftp://secret-of-a-provider',
    FACILITATOR_PORT: '70000',
    FACILITATOR_NETWORK: 'mainnet',
    FACILITATOR_KEYFILE: 'a typo',
  });
  const named = ['KEYFILE', 'PORT', 'NETWORK', 'RPC_URL', 'KEY_FILE'].map((name) => `FACILITATOR_${name}`);
  for (const name of named) expect(faults.some((fault) => fault.startsWith(`${name} `))).toBe(true);
  expect(faults.join(' ')).not.toMatch(/secret-of-a-provider|70000|mainnet|a typo/);
});
