import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, NETWORKS } from '../contract/vocabulary.ts';
import { ConfigError } from '../platform/config.ts';
import { readMarketConfig } from './config.ts';

const TREASURY = '0x52908400098527886e0f7030069857d2e4169ee7';
const minimalEnv = {
  OPENAISLE_RPC_URLS: 'http://127.0.0.1:8545',
  OPENAISLE_TREASURY: TREASURY,
  OPENAISLE_FACILITATOR_URL: 'https://facilitator.example/',
};

function faultsOf(env: Record<string, string>): readonly string[] {
  try {
    readMarketConfig({ ...minimalEnv, ...env });
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

describe('readMarketConfig', () => {
  it('takes the environment of deploy/cluster, once the rest is named', () => {
    const text = readFileSync(new URL('../../deploy/cluster/market.env', import.meta.url), 'utf8');
    const env = Object.fromEntries(
      [...text.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
    );
    expect(faultsOf(env)).toEqual([]);
    expect(readMarketConfig({ ...minimalEnv, ...env })).toMatchObject({ workers: 2, databaseConnections: 30 });
  });

  it('needs a node, a treasury and a facilitator and fills in the rest', () => {
    const config = readMarketConfig(minimalEnv);
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 4020,
      metricsPort: 0,
      workers: 1,
      catalogMemoryBytes: 2_147_483_648,
      baseUrl: 'http://127.0.0.1:4020',
      databaseUrl: null,
      databaseConnections: null,
      dataDir: './data',
      network: NETWORKS.base,
      rpcUrls: ['http://127.0.0.1:8545'],
      finalityMinAgeSeconds: 300,
      treasury: TREASURY,
      facilitatorUrl: 'https://facilitator.example',
      facilitatorAuth: null,
      cityUrl: null,
      pepperFile: null,
      s3: null,
      keyPrefix: 'aisle',
      sourceUrl: null,
      explorerUrl: NETWORKS.base.explorerUrl,
      contactUrl: null,
      limits: DEFAULT_LIMITS,
      clientNetworkLimits: [],
      trustProxy: false,
    });
    expect([...config.openIdentityEndpoints]).toEqual(['register', 'rotate', 'recovery', 'pair']);
    expect(config.deploymentCommit ?? 'a'.repeat(40)).toMatch(/^[0-9a-f]{40}/);
  });

  it('reads every variable', () => {
    const config = readMarketConfig({
      ...minimalEnv,
      OPENAISLE_HOST: '::',
      OPENAISLE_PORT: '8080',
      OPENAISLE_BASE_URL: 'https://Market.example/',
      OPENAISLE_METRICS_PORT: '9090',
      OPENAISLE_WORKERS: '64',
      OPENAISLE_DATABASE_CONNECTIONS: '200',
      OPENAISLE_CATALOG_MEMORY_MB: '64',
      DATABASE_URL: 'postgresql://market:word@db/market',
      OPENAISLE_DATA_DIR: '/var/lib/market',
      OPENAISLE_NETWORK: 'base-sepolia',
      OPENAISLE_RPC_URLS: 'https://one.example/key, https://two.example',
      OPENAISLE_FINALITY_MIN_AGE_SECONDS: '0',
      OPENAISLE_USDC_ADDRESS: `0x${'12'.repeat(20)}`,
      OPENAISLE_TREASURY: '0x52908400098527886E0F7030069857D2E4169EE7',
      OPENAISLE_FACILITATOR_AUTH: 'Bearer word',
      OPENAISLE_CITY_URL: 'https://City.example:443/',
      OPENAISLE_PEPPER_FILE: '/run/pepper',
      OPENAISLE_S3_ENDPOINT: 'https://S3.example.org/',
      OPENAISLE_S3_BUCKET: 'goods.of-shop2',
      OPENAISLE_S3_REGION: 'eu-central-1',
      OPENAISLE_S3_KEY_ID: 'AKIAEXAMPLE',
      OPENAISLE_S3_SECRET_FILE: '/run/s3-secret',
      OPENAISLE_KEY_PREFIX: 'shop2',
      OPENAISLE_DEPLOYMENT_COMMIT: 'abcdef0',
      OPENAISLE_SOURCE_URL: 'https://example.org/source',
      OPENAISLE_EXPLORER_URL: 'https://explorer.example',
      OPENAISLE_CONTACT: 'mailto:market@operator.example',
      OPENAISLE_LIMITS: '{"registration_per_hour": 0, "artifact_bytes": 1000}',
      OPENAISLE_DOORS: 'register',
      OPENAISLE_HOSTED_HOSTS: 'claude.ai, hosted.example',
      OPENAISLE_TRUST_PROXY: 'loopback, 10.0.0.0/8',
      OPENAISLE_TEST_CRASH_AT: 'before_verify',
    });
    expect(config).toMatchObject({
      baseUrl: 'https://market.example',
      metricsPort: 9090,
      workers: 64,
      databaseConnections: 200,
      catalogMemoryBytes: 67_108_864,
      network: { ...NETWORKS['base-sepolia'], usdc: `0x${'12'.repeat(20)}` },
      rpcUrls: ['https://one.example/key', 'https://two.example'],
      finalityMinAgeSeconds: 0,
      treasury: TREASURY,
      facilitatorAuth: 'Bearer word',
      cityUrl: 'https://city.example',
      s3: {
        endpoint: 'https://s3.example.org',
        bucket: 'goods.of-shop2',
        region: 'eu-central-1',
        keyId: 'AKIAEXAMPLE',
        secretFile: '/run/s3-secret',
      },
      deploymentCommit: 'abcdef0',
      contactUrl: 'mailto:market@operator.example',
      limits: { ...DEFAULT_LIMITS, registration_per_hour: 0, artifact_bytes: 1000 },
      clientNetworkLimits: [],
      hostedHosts: ['claude.ai', 'hosted.example'],
      trustProxy: ['loopback', '10.0.0.0/8'],
    });
  });

  it('takes the variables of the S3 store together or not at all', () => {
    const store = {
      OPENAISLE_S3_ENDPOINT: 'http://127.0.0.1:9000',
      OPENAISLE_S3_BUCKET: 'goods',
      OPENAISLE_S3_KEY_ID: 'key',
      OPENAISLE_S3_SECRET_FILE: 'secret',
    };
    expect(readMarketConfig({ ...minimalEnv, ...store }).s3).toMatchObject({ region: 'us-east-1' });
    for (const name of Object.keys(store))
      expect(faultsOf({ ...store, [name]: '' })).toEqual([
        `${name} is required with the other variables of the S3 store`,
      ]);
    expect(faultsOf({ OPENAISLE_S3_REGION: 'auto' })).toHaveLength(4);
    const endpoints = ['http://s3.example', 'https://s3.example/path', 'https://key:word@s3.example', 's3.example'];
    for (const endpoint of [...endpoints, 'https://s3.example?x', 'http://127.0.0.1.example'])
      expect(faultsOf({ ...store, OPENAISLE_S3_ENDPOINT: endpoint })).toEqual([
        'OPENAISLE_S3_ENDPOINT must be an https origin such as https://s3.example.org, without a path. http is for a loopback address only',
      ]);
    expect(faultsOf({ ...store, OPENAISLE_S3_BUCKET: 'Goods', OPENAISLE_S3_KEY_ID: 'a/b' })).toHaveLength(2);
  });

  it('finds an own URL that works on this machine', () => {
    const url = (host: string) =>
      readMarketConfig({ ...minimalEnv, OPENAISLE_HOST: host, OPENAISLE_PORT: '81' }).baseUrl;
    expect(url('0.0.0.0')).toBe('http://127.0.0.1:81');
    expect(url('::')).toBe('http://127.0.0.1:81');
    expect(url('::1')).toBe('http://[::1]:81');
    expect(url('market.local')).toBe('http://market.local:81');
  });

  it('links to the explorer of its network, to another, or to none', () => {
    const explorer = (env: Record<string, string>): string | null =>
      readMarketConfig({ ...minimalEnv, ...env }).explorerUrl;
    expect(explorer({ OPENAISLE_NETWORK: 'base-sepolia' })).toBe(NETWORKS['base-sepolia'].explorerUrl);
    expect(explorer({ OPENAISLE_EXPLORER_URL: 'https://explorer.example/' })).toBe('https://explorer.example');
    expect(explorer({ OPENAISLE_EXPLORER_URL: 'none' })).toBeNull();
  });

  it('stops with all that is missing', () => {
    expect(() => readMarketConfig({ DATABASE_URL: 'postgresql:///x' })).toThrow(
      [
        'the configuration is not usable:',
        '  OPENAISLE_PEPPER_FILE is required with DATABASE_URL and must be a path',
        '  OPENAISLE_RPC_URLS is required and must be an http or https URL without user, password and fragment, or up to 5 of them separated by commas',
        '  OPENAISLE_TREASURY is required and must be an address: 0x and 40 hex digits, all lower case or with a right EIP-55 checksum',
        '  OPENAISLE_FACILITATOR_URL is required and must be an http or https URL without user, password and fragment',
      ].join('\n'),
    );
  });

  it.each([
    ['OPENAISLE_HOST', 'http://hunter2'],
    ['OPENAISLE_PORT', '65536'],
    ['OPENAISLE_PORT', '0'],
    ['OPENAISLE_PORT', '4e3'],
    ['OPENAISLE_METRICS_PORT', '65536'],
    ['OPENAISLE_METRICS_PORT', '4020'],
    ['OPENAISLE_WORKERS', '0'],
    ['OPENAISLE_DATABASE_CONNECTIONS', '2.5'],
    ['OPENAISLE_DATABASE_CONNECTIONS', 'all'],
    ['OPENAISLE_WORKERS', '65'],
    ['OPENAISLE_WORKERS', '2.5'],
    ['OPENAISLE_CATALOG_MEMORY_MB', '63'],
    ['OPENAISLE_CATALOG_MEMORY_MB', '65537'],
    ['OPENAISLE_BASE_URL', 'https://example.org/hunter2'],
    ['OPENAISLE_BASE_URL', 'ftp://example.org'],
    ['DATABASE_URL', 'mysql://root:hunter2@db'],
    ['OPENAISLE_NETWORK', 'ethereum'],
    ['OPENAISLE_RPC_URLS', 'ws://hunter2'],
    ['OPENAISLE_RPC_URLS', 'https://me:hunter2@node.example'],
    ['OPENAISLE_RPC_URLS', 'https://node.example,hunter2'],
    ['OPENAISLE_RPC_URLS', 'https://node.example/hunter2,https://node.example/hunter2'],
    ['OPENAISLE_RPC_URLS', 'https://node.example/hunter2,https://NODE.example:443/hunter2'],
    ['OPENAISLE_RPC_URLS', 'https://a.hunter2,https://b.b,https://c.c,https://d.d,https://e.e,https://f.f'],
    ['OPENAISLE_FINALITY_MIN_AGE_SECONDS', '-1'],
    ['OPENAISLE_USDC_ADDRESS', '0x1234'],
    ['OPENAISLE_TREASURY', '0x52908400098527886E0F7030069857D2E4169Ee7'],
    ['OPENAISLE_TREASURY', `0x${'0'.repeat(40)}`],
    ['OPENAISLE_TREASURY', NETWORKS.base.usdc],
    ['OPENAISLE_FACILITATOR_URL', 'file:///hunter2'],
    ['OPENAISLE_FACILITATOR_AUTH', 'hunter2\nX-Other: 1'],
    ['OPENAISLE_CITY_URL', 'https://city.example/hunter2'],
    ['OPENAISLE_CITY_URL', 'https://me:hunter2@city.example'],
    ['OPENAISLE_KEY_PREFIX', 'hunter_2'],
    ['OPENAISLE_DEPLOYMENT_COMMIT', 'hunter2'],
    ['OPENAISLE_SOURCE_URL', 'javascript:hunter2'],
    ['OPENAISLE_EXPLORER_URL', 'javascript:hunter2'],
    ['OPENAISLE_CONTACT', 'hunter2@example.org'],
    ['OPENAISLE_CONTACT', 'mailto:hunter2'],
    ['OPENAISLE_CONTACT', 'mailto:hunter2@example.org?bcc=x@example.org'],
    ['OPENAISLE_CONTACT', 'mailto:hunter2@example.org,x@example.org'],
    ['OPENAISLE_CONTACT', 'http://example.org/hunter2'],
    ['OPENAISLE_CONTACT', 'https://me:hunter2@example.org'],
    ['OPENAISLE_CONTACT', 'https://example.org/hunter2)(x'],
    ['OPENAISLE_CONTACT', 'https://example.org/#hunter2'],
    ['OPENAISLE_CONTACT', 'javascript:hunter2'],
    ['OPENAISLE_LIMITS', '{"registration_per_hour":"hunter2"}'],
    ['OPENAISLE_LIMITS', '{"registration_per_hour":1.5}'],
    ['OPENAISLE_LIMITS', '{"registration_per_hour":1,"registration_per_hour":2}'],
    ['OPENAISLE_LIMITS', '{"hunter2":1}'],
    ['OPENAISLE_LIMITS', '{"artifact_bytes":2147483648}'],
    ['OPENAISLE_LIMITS', '[]'],
    ['OPENAISLE_LIMITS', '{"registration_per_hour":-1}'],
    ['OPENAISLE_LIMITS', '{"networks":[]}'],
    ['OPENAISLE_LIMITS', '{"networks":{"hunter2":{}}}'],
    ['OPENAISLE_LIMITS', '{"networks":{"203.0.113.1/24":{"confirm_per_ip_hour":1}}}'],
    ['OPENAISLE_LIMITS', '{"networks":{"2001:db8::/65":{"confirm_per_ip_hour":1}}}'],
    ['OPENAISLE_LIMITS', '{"networks":{"203.0.113.0/24":{"registration_per_hour":1}}}'],
    ['OPENAISLE_LIMITS', '{"networks":{"203.0.113.0/24":{"confirm_per_ip_hour":"hunter2"}}}'],
    ['OPENAISLE_LIMITS', '{"networks":{"203.0.113.0/24":7}}'],
    ['OPENAISLE_LIMITS', '{"networks":{"2001:db8::/32":{},"2001:0db8::/32":{}}}'],
    ['OPENAISLE_DOORS', 'hunter2'],
    ['OPENAISLE_HOSTED_HOSTS', 'hunter2'],
    ['OPENAISLE_HOSTED_HOSTS', 'https://hunter2.example'],
    ['OPENAISLE_TRUST_PROXY', 'true'],
    ['OPENAISLE_TRUST_PROXY', '0.0.0.0/0'],
    ['OPENAISLE_TRUST_PROXY', '10.0.0.0/33'],
    ['OPENAISLE_TRUST_PROXY', '10.0.0.0/8/8'],
    ['OPENAISLE_PROT', 'hunter2'],
  ])('refuses %s=%s by its name and never by its value', (name, value) => {
    const extra = name === 'DATABASE_URL' ? { OPENAISLE_PEPPER_FILE: '/run/pepper' } : {};
    const faults = faultsOf({ ...extra, [name]: value });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(name);
    expect(faults[0]).not.toContain(value);
    expect(faults[0]).not.toContain('hunter2');
  });

  it('lists the identity endpoints if one is unknown', () => {
    const faults = faultsOf({ OPENAISLE_DOORS: 'register,window' });
    expect(faults).toEqual([expect.stringMatching(/^OPENAISLE_DOORS .*register, rotate, recovery, pair/)]);
  });
});

it('takes a mail address or a page as the contact', () => {
  const contact = (value: string) => readMarketConfig({ ...minimalEnv, OPENAISLE_CONTACT: value }).contactUrl;
  for (const url of ['mailto:Market+help@mail.operator.example', 'https://operator.example/contact?about=market'])
    expect(contact(url)).toBe(url);
  expect(contact('')).toBeNull();
});

it('closes every identity endpoint with the word none only', () => {
  const doors = (value: string) => readMarketConfig({ ...minimalEnv, OPENAISLE_DOORS: value }).openIdentityEndpoints;
  expect([...doors('none')]).toEqual([]);
  expect([...doors('')]).toEqual(['register', 'rotate', 'recovery', 'pair']);
});
