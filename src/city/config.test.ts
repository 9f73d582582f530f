import { describe, expect, it } from 'vitest';
import { CITY_LIMITS } from '../contract/city.ts';
import { NETWORKS } from '../contract/vocabulary.ts';
import { ConfigError } from '../platform/config.ts';
import { readCityConfig } from './config.ts';

const least = { CITY_RPC_URLS: 'http://127.0.0.1:8545', CITY_MARKET_URL: 'https://market.example' };

function faultsOf(env: Record<string, string>): readonly string[] {
  try {
    readCityConfig({ ...least, ...env });
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

describe('readCityConfig', () => {
  it('needs a node and a market and fills in the rest', () => {
    expect(readCityConfig(least)).toEqual({
      host: '127.0.0.1',
      port: 4022,
      baseUrl: 'http://127.0.0.1:4022',
      databaseUrl: null,
      databaseConnections: null,
      dataDir: 'data/city',
      logCopyDir: null,
      marketUrl: 'https://market.example',
      network: NETWORKS.base,
      rpcUrls: ['http://127.0.0.1:8545'],
      finalityMinAgeSeconds: 300,
      limits: CITY_LIMITS,
      pepperFile: null,
      keyPrefix: 'city',
    });
  });

  it('reads every variable', () => {
    const config = readCityConfig({
      CITY_HOST: '::1',
      CITY_PORT: '8080',
      CITY_BASE_URL: 'https://City.example/',
      CITY_DATABASE_URL: 'postgresql://city:word@db/city',
      CITY_DATABASE_CONNECTIONS: '12',
      CITY_DATA_DIR: '/var/lib/openaisle',
      CITY_LOG_COPY_DIR: '/mnt/other/copy',
      CITY_MARKET_URL: 'https://Market.example/',
      CITY_NETWORK: 'base-sepolia',
      CITY_RPC_URLS: 'https://one.example/key, https://two.example',
      CITY_USDC_ADDRESS: `0x${'12'.repeat(20)}`,
      CITY_FINALITY_MIN_AGE_SECONDS: '0',
      CITY_LIMITS: '{"things_per_resident_day": 7, "confirm_per_ip_hour": 0}',
      CITY_PEPPER_FILE: '/run/pepper',
      CITY_KEY_PREFIX: 'town2',
    });
    expect(config).toEqual({
      host: '::1',
      port: 8080,
      baseUrl: 'https://city.example',
      databaseUrl: 'postgresql://city:word@db/city',
      databaseConnections: 12,
      dataDir: '/var/lib/openaisle/city',
      logCopyDir: '/mnt/other/copy',
      marketUrl: 'https://market.example',
      network: { ...NETWORKS['base-sepolia'], usdc: `0x${'12'.repeat(20)}` },
      rpcUrls: ['https://one.example/key', 'https://two.example'],
      finalityMinAgeSeconds: 0,
      limits: { ...CITY_LIMITS, things_per_resident_day: 7, confirm_per_ip_hour: 0 },
      pepperFile: '/run/pepper',
      keyPrefix: 'town2',
    });
  });

  it('stops with all that is missing', () => {
    expect(() => readCityConfig({ CITY_DATABASE_URL: 'postgresql:///x' })).toThrow(
      [
        'the configuration is not usable:',
        '  CITY_PEPPER_FILE is required with CITY_DATABASE_URL and must be a path',
        '  CITY_MARKET_URL is required and must be an http or https origin such as https://example.org, without a path',
        '  CITY_RPC_URLS is required and must be an http or https URL without user, password and fragment, or up to 5 of them separated by commas',
      ].join('\n'),
    );
  });

  it.each([
    ['CITY_HOST', 'http://hunter2'],
    ['CITY_PORT', '65536'],
    ['CITY_BASE_URL', 'https://example.org/hunter2'],
    ['CITY_DATABASE_URL', 'mysql://root:hunter2@db'],
    ['CITY_MARKET_URL', 'https://example.org/hunter2'],
    ['CITY_MARKET_URL', 'https://me:hunter2@example.org'],
    ['CITY_NETWORK', 'hunter2'],
    ['CITY_RPC_URLS', 'https://node.example/hunter2,https://node.example/hunter2'],
    ['CITY_USDC_ADDRESS', '0x1234'],
    ['CITY_FINALITY_MIN_AGE_SECONDS', '-1'],
    ['CITY_LIMITS', '{"things_per_resident_day":"hunter2"}'],
    ['CITY_LIMITS', '{"hunter2":7}'],
    ['CITY_LIMITS', 'hunter2'],
    ['CITY_KEY_PREFIX', 'hunter_2'],
    ['CITY_MARKET', 'hunter2'],
  ])('refuses %s=%s by its name and never by its value', (name, value) => {
    const extra = name === 'CITY_DATABASE_URL' ? { CITY_PEPPER_FILE: '/run/pepper' } : {};
    const faults = faultsOf({ ...extra, [name]: value });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(name);
    expect(faults[0]).not.toContain('hunter2');
  });
});
