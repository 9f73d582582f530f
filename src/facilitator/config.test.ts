import { expect, it } from 'vitest';
import { NETWORKS } from '../contract/vocabulary.ts';
import { ConfigError } from '../platform/config.ts';
import { DEFAULT_LIMITS } from './budget/gas-budget.ts';
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
    auth: null,
    limits: DEFAULT_LIMITS,
    etherUsdc: 5_000,
    metricsPort: 0,
  });
});

it('takes some of the limits, and names those that are none', () => {
  const read = readFacilitatorConfig({ ...complete, FACILITATOR_LIMITS: '{"rest_seconds": 5}' });
  expect(read.limits).toEqual({ ...DEFAULT_LIMITS, rest_seconds: 5 });
  for (const FACILITATOR_LIMITS of ['{"rest": 5}', '[]', '{"rest_seconds": -1}']) {
    expect(faultsOf({ ...complete, FACILITATOR_LIMITS })).toHaveLength(1);
  }
});

it.each(['0.0.0.0', '::', '10.0.0.7', 'facilitator.internal', '128.0.0.1'])(
  'does not start at %s without what callers have to send',
  (FACILITATOR_HOST) => {
    const [fault, ...others] = faultsOf({ ...complete, FACILITATOR_HOST });
    expect(fault).toMatch(/^FACILITATOR_AUTH is required unless FACILITATOR_HOST is a loopback address/);
    expect(others).toEqual([]);
    expect(faultsOf({ ...complete, FACILITATOR_HOST, FACILITATOR_AUTH: 'Bearer of-it' })).toEqual([]);
  },
);

it.each(['127.0.0.1', '127.8.9.10', '::1', 'localhost'])('starts at %s without it', (FACILITATOR_HOST) => {
  expect(faultsOf({ ...complete, FACILITATOR_HOST })).toEqual([]);
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
