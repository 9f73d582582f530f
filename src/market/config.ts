import { resolve } from 'node:path';
import { z } from 'zod';
import { DEFAULT_LIMITS, IDENTITY_ENDPOINTS, type IdentityEndpoint, type Limits } from '../contract/vocabulary.ts';
import {
  ConfigError,
  type Environment,
  optional,
  readEnvironment,
  readGitCommit,
  type Variable,
} from '../platform/config.ts';
import { ZERO_ADDRESS } from '../platform/hex.ts';
import { parseSubnet } from '../platform/http/client-network.ts';
import { isLoopback } from '../platform/loopback.ts';
import {
  databaseUrlVariable,
  hostVariable,
  httpUrlOrNone,
  keyPrefixVariable,
  localUrl,
  networkVariable,
  optionalAddress,
  optionalHttpUrl,
  originVariable,
  pathVariable,
  pepperFaults,
  portVariable,
  type ReportFault,
  readLimitsObject,
  readNamed,
  requiredAddress,
  requiredHttpUrl,
  rpcUrlsVariable,
  wholeNumberFrom,
  wholeNumberVariable,
} from '../platform/variables.ts';
import type { MarketConfig, NetworkRule, S3Settings } from './context.ts';
import { NETWORK_LIMITS, readNetwork } from './limits/network-limits.ts';

// The size of goods is a 32-bit column.
const HIGHEST_LIMITS = new Map([['artifact_bytes', 2_147_483_647]]);
const NETWORKS = 'networks';

interface ConfiguredLimits {
  limits: Limits;
  clientNetworkLimits: readonly NetworkRule[];
}

/** OPENAISLE_LIMITS: a JSON object that changes named limits for everybody or, under `networks`, for single networks. */
const readLimits: z.ZodType<ConfiguredLimits, string> = z.string().transform((text, context) => {
  const reportFault: ReportFault = (message) => context.addIssue({ code: 'custom', message });
  const changes = readLimitsObject(text, reportFault);
  if (changes === null) return z.NEVER;
  const { [NETWORKS]: networks = {}, ...named } = changes;
  const limits = {
    ...DEFAULT_LIMITS,
    ...readNamed(named, Object.keys(DEFAULT_LIMITS), reportFault, HIGHEST_LIMITS),
  } as Limits;
  return { limits, clientNetworkLimits: readNetworks(networks, reportFault) };
});

function readNetworks(networks: unknown, reportFault: ReportFault): NetworkRule[] {
  if (!isObject(networks)) {
    reportFault(`${NETWORKS} must be an object that gives each network an object of limits`);
    return [];
  }
  const rules: NetworkRule[] = [];
  for (const [text, limitsOfNetwork] of Object.entries(networks)) {
    const network = readNetwork(text);
    if (network === null) {
      reportFault(
        `${NETWORKS} contains an invalid CIDR block: write 203.0.113.0/24 or 2001:db8::/48, at most /64 for IPv6, with no bit set beyond the length`,
      );
    } else if (rules.some((rule) => String(rule.network) === String(network)))
      reportFault(`${NETWORKS} names one network twice`);
    else if (!isObject(limitsOfNetwork)) reportFault(`${NETWORKS}: a network has no object of limits`);
    else {
      const limits: NetworkRule['limits'] = readNamed(limitsOfNetwork, NETWORK_LIMITS, (message) =>
        reportFault(`${NETWORKS}: ${message}`),
      );
      rules.push({ network, limits });
    }
  }
  return rules;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Matches a mailto URL with one address and no header fields. */
const MAILTO = /^mailto:[a-z0-9.!#$%&*+=?^_{|}~-]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/i;
/** Matches https URLs without characters that would end a link in Markdown or HTML. */
const HTTPS = /^https:\/\/[a-z0-9._~:/?=&%+,;@!*$-]{1,500}$/i;

function contactVariable(): Variable<string | null> {
  const schema = z.string().transform((text, context) => {
    if (isContact(text)) return text;
    context.addIssue({ code: 'invalid_format', format: 'url' });
    return z.NEVER;
  });
  const must = 'a mailto: URL with one address, or an https URL without user, password, fragment and brackets';
  return optional<string | null>(schema, must, null);
}

function isContact(text: string): boolean {
  if (MAILTO.test(text)) return true;
  const url = HTTPS.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === '' && url.password === '';
}

/** Bytes of goods and signatures would pass a network in the clear. */
function s3EndpointVariable(): Variable<string | null> {
  const schema = z.string().transform((text, context) => {
    const url = /^https?:\/\/[^\s/]+\/?$/i.test(text) ? URL.parse(text) : null;
    const isPlain = url !== null && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
    if (isPlain && (url.protocol === 'https:' || isLoopback(url.hostname))) return url.origin;
    context.addIssue({ code: 'invalid_format', format: 'url' });
    return z.NEVER;
  });
  const must = 'an https origin such as https://s3.example.org, without a path. http is for a loopback address only';
  return optional<string | null>(schema, must, null);
}

const NAMED_RANGES = ['loopback', 'linklocal', 'uniquelocal'];

/** OPENAISLE_TRUST_PROXY: proxies trusted to name the client's address. Refuses /0, because clients could then choose their address. */
const readProxies: z.ZodType<false | string[], string> = z.string().transform((text, context) => {
  if (text === 'off') return false;
  const proxies = text.split(',').map((proxy) => proxy.trim());
  const all = proxies.every(
    (proxy) => NAMED_RANGES.includes(proxy) || (parseSubnet(proxy) !== null && !proxy.endsWith('/0')),
  );
  if (all) return proxies;
  context.addIssue({ code: 'invalid_format', format: 'cidr' });
  return z.NEVER;
});

const DEFAULT_PORT = 4020;
const HIGHEST_PORT = 65_535;
const BYTES_PER_MB = 1_048_576;
const DEFAULT_FINALITY_MIN_AGE_SECONDS = 300;
const ONE_DAY_SECONDS = 86_400;
/** Hosts where hosted clients publish their metadata documents. */
const DEFAULT_HOSTED_HOSTS: readonly string[] = ['claude.ai', 'chatgpt.com', 'vscode.dev', 'opencode.ai'];

const text = z.string();

/** Variable and parser of each setting. */
const SETTINGS = {
  host: ['OPENAISLE_HOST', hostVariable('127.0.0.1')],
  port: ['OPENAISLE_PORT', portVariable(DEFAULT_PORT)],
  baseUrl: ['OPENAISLE_BASE_URL', originVariable()],
  metricsPort: ['OPENAISLE_METRICS_PORT', wholeNumberVariable(HIGHEST_PORT, 0)],
  workers: ['OPENAISLE_WORKERS', wholeNumberFrom(1, 64, 1)],
  databaseUrl: ['DATABASE_URL', databaseUrlVariable()],
  databaseConnections: ['OPENAISLE_DATABASE_CONNECTIONS', wholeNumberFrom(1, 10_000, null)],
  dataDir: ['OPENAISLE_DATA_DIR', pathVariable('./data')],
  logCopyDir: ['OPENAISLE_LOG_COPY_DIR', pathVariable(null)],
  network: ['OPENAISLE_NETWORK', networkVariable()],
  rpcUrls: ['OPENAISLE_RPC_URLS', rpcUrlsVariable()],
  finalityMinAgeSeconds: [
    'OPENAISLE_FINALITY_MIN_AGE_SECONDS',
    wholeNumberVariable(ONE_DAY_SECONDS, DEFAULT_FINALITY_MIN_AGE_SECONDS),
  ],
  usdcAddress: ['OPENAISLE_USDC_ADDRESS', optionalAddress()],
  treasury: ['OPENAISLE_TREASURY', requiredAddress()],
  facilitatorUrl: ['OPENAISLE_FACILITATOR_URL', requiredHttpUrl()],
  facilitatorAuth: [
    'OPENAISLE_FACILITATOR_AUTH',
    optional<string | null>(
      text.regex(/^[\x20-\x7e]{1,4096}$/),
      'the value of an HTTP header, in printable ASCII',
      null,
    ),
  ],
  cityUrl: ['OPENAISLE_CITY_URL', originVariable()],
  pepperFile: ['OPENAISLE_PEPPER_FILE', pathVariable(null)],
  s3Endpoint: ['OPENAISLE_S3_ENDPOINT', s3EndpointVariable()],
  s3Bucket: [
    'OPENAISLE_S3_BUCKET',
    optional<string | null>(
      text.regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/),
      'the name of a bucket: 3 to 63 of a-z, 0-9, dot and hyphen',
      null,
    ),
  ],
  s3Region: [
    'OPENAISLE_S3_REGION',
    optional<string>(text.regex(/^[a-z0-9-]{1,64}$/), 'the name of a region: a-z, 0-9 and hyphen', 'us-east-1'),
  ],
  s3KeyId: [
    'OPENAISLE_S3_KEY_ID',
    optional<string | null>(text.regex(/^[\w.@+=-]{1,128}$/), 'the id of an access key, without its secret', null),
  ],
  s3SecretFile: ['OPENAISLE_S3_SECRET_FILE', pathVariable(null)],
  keyPrefix: ['OPENAISLE_KEY_PREFIX', keyPrefixVariable('aisle')],
  deploymentCommit: [
    'OPENAISLE_DEPLOYMENT_COMMIT',
    optional<string | null>(text.regex(/^[0-9a-f]{7,64}$/), 'a git commit: 7 to 64 lower-case hex digits', () =>
      readGitCommit(resolve(import.meta.dirname, '../..')),
    ),
  ],
  sourceUrl: ['OPENAISLE_SOURCE_URL', optionalHttpUrl()],
  explorerUrl: ['OPENAISLE_EXPLORER_URL', httpUrlOrNone()],
  contactUrl: ['OPENAISLE_CONTACT', contactVariable()],
  configuredLimits: [
    'OPENAISLE_LIMITS',
    optional<ConfiguredLimits>(readLimits, 'a JSON object of limit names and whole numbers', {
      limits: DEFAULT_LIMITS,
      clientNetworkLimits: [],
    }),
  ],
  openIdentityEndpoints: [
    'OPENAISLE_DOORS',
    optional<ReadonlySet<IdentityEndpoint>>(
      text.transform((list, context) => {
        if (list === 'none') return new Set<IdentityEndpoint>();
        const names = list.split(',').map((name) => name.trim());
        const open = IDENTITY_ENDPOINTS.filter((name) => names.includes(name));
        if (open.length !== names.length)
          context.addIssue({ code: 'custom', message: 'it has an unknown or repeated name' });
        return new Set(open);
      }),
      `none, or a comma-separated list of ${IDENTITY_ENDPOINTS.join(', ')}`,
      () => new Set(IDENTITY_ENDPOINTS),
    ),
  ],
  hostedHosts: [
    'OPENAISLE_HOSTED_HOSTS',
    optional<readonly string[]>(
      text
        .transform((list) => (list === 'none' ? [] : list.split(',').map((host) => host.trim())))
        .pipe(z.array(text.regex(/^(?!-)[a-z0-9-]+(?:\.[a-z0-9-]+)+$/))),
      'none, or a comma-separated list of host names in lower case',
      DEFAULT_HOSTED_HOSTS,
    ),
  ],
  catalogMemoryMb: ['OPENAISLE_CATALOG_MEMORY_MB', wholeNumberFrom(64, 65_536, 2_048)],
  trustProxy: [
    'OPENAISLE_TRUST_PROXY',
    optional<false | string[]>(
      readProxies,
      'off, or a comma-separated list of addresses, networks (10.0.0.0/8), loopback, linklocal, uniquelocal',
      false,
    ),
  ],
} as const satisfies Readonly<Record<string, readonly [name: string, variable: Variable<unknown>]>>;

type Settings = { [S in keyof typeof SETTINGS]: (typeof SETTINGS)[S][1] extends Variable<infer T> ? T : never };

/** Read by main.ts, for tests that kill the process. */
const READ_ELSEWHERE = ['OPENAISLE_TEST_CRASH_AT'];
const PEPPER = { databaseUrl: 'DATABASE_URL', pepperFile: 'OPENAISLE_PEPPER_FILE' };

const S3_NEEDS = ['OPENAISLE_S3_ENDPOINT', 'OPENAISLE_S3_BUCKET', 'OPENAISLE_S3_KEY_ID', 'OPENAISLE_S3_SECRET_FILE'];

/** The variables of the S3 store are set together or not at all. */
function s3Faults(env: Environment): string[] {
  const isSet = (name: string): boolean => (env[name] ?? '').trim() !== '';
  if (![...S3_NEEDS, 'OPENAISLE_S3_REGION'].some(isSet)) return [];
  return S3_NEEDS.filter((name) => !isSet(name)).map(
    (name) => `${name} is required with the other variables of the S3 store`,
  );
}

function readSettings(env: Environment): Settings {
  const variables: Record<string, Variable<unknown>> = Object.fromEntries(Object.values(SETTINGS));
  const naming = { prefix: 'OPENAISLE_', others: READ_ELSEWHERE };
  const values = readEnvironment(env, variables, naming, [...pepperFaults(env, PEPPER), ...s3Faults(env)]);
  return Object.fromEntries(Object.entries(SETTINGS).map(([setting, [name]]) => [setting, values[name]])) as Settings;
}

/** Reads the environment. Throws a ConfigError that names wrong variables and no values. */
export function readMarketConfig(env: Environment): MarketConfig {
  const { usdcAddress, configuredLimits, catalogMemoryMb, ...read } = readSettings(env);
  const { s3Endpoint, s3Bucket, s3Region, s3KeyId, s3SecretFile, ...settings } = read;
  const network = { ...settings.network, usdc: usdcAddress ?? settings.network.usdc };
  if (settings.treasury === ZERO_ADDRESS || settings.treasury === network.usdc) {
    throw new ConfigError(['OPENAISLE_TREASURY must be neither the zero address nor the USDC contract']);
  }
  if (settings.metricsPort === settings.port) {
    throw new ConfigError(['OPENAISLE_METRICS_PORT must be another port than OPENAISLE_PORT']);
  }
  return {
    ...settings,
    ...configuredLimits,
    s3: joinS3({ endpoint: s3Endpoint, bucket: s3Bucket, region: s3Region, keyId: s3KeyId, secretFile: s3SecretFile }),
    network,
    baseUrl: settings.baseUrl ?? localUrl(settings.host, settings.port),
    explorerUrl: settings.explorerUrl === undefined ? network.explorerUrl : settings.explorerUrl,
    catalogMemoryBytes: catalogMemoryMb * BYTES_PER_MB,
  };
}

/** Returns the store's settings, which are all set or none, except the region. */
function joinS3(settings: { [S in keyof S3Settings]: S3Settings[S] | null }): S3Settings | null {
  const { endpoint, bucket, region, keyId, secretFile } = settings;
  if (endpoint === null || bucket === null || region === null || keyId === null || secretFile === null) return null;
  return { endpoint, bucket, region, keyId, secretFile };
}
