import { resolve } from 'node:path';
import { z } from 'zod';
import { DEFAULT_LIMITS, IDENTITY_DOORS, type IdentityDoor, type Limits } from '../contract/vocabulary.ts';
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
import type { MarketConfig, NetworkRule } from './context.ts';
import { NETWORK_LIMITS, readNetwork } from './limits/network-limits.ts';

// The body of a listing has a fixed limit; a larger artifact would never arrive.
const MOST = new Map([['artifact_bytes', 2 * DEFAULT_LIMITS.artifact_bytes]]);
const NETWORKS = 'networks';

interface ConfiguredLimits {
  limits: Limits;
  networkLimits: readonly NetworkRule[];
}

/** OPENAISLE_LIMITS: a JSON object that changes some of the named limits, for everybody or, under `networks`, for some. */
const readLimits: z.ZodType<ConfiguredLimits, string> = z.string().transform((text, context) => {
  const tell: ReportFault = (message) => context.addIssue({ code: 'custom', message });
  const given = readLimitsObject(text, tell);
  if (given === null) return z.NEVER;
  const { [NETWORKS]: networks = {}, ...named } = given;
  const limits = { ...DEFAULT_LIMITS, ...readNamed(named, Object.keys(DEFAULT_LIMITS), tell, MOST) } as Limits;
  return { limits, networkLimits: readNetworks(networks, tell) };
});

function readNetworks(given: unknown, tell: ReportFault): NetworkRule[] {
  if (!isObject(given)) {
    tell(`${NETWORKS} is no object of networks, each with limits of its own`);
    return [];
  }
  const rules: NetworkRule[] = [];
  for (const [text, own] of Object.entries(given)) {
    const network = readNetwork(text);
    if (network === null) {
      tell(
        `${NETWORKS} names what is no network: 203.0.113.0/24 or 2001:db8::/48, of IPv6 at most /64, no bit beyond the length`,
      );
    } else if (rules.some((rule) => String(rule.network) === String(network)))
      tell(`${NETWORKS} names one network twice`);
    else if (!isObject(own)) tell(`${NETWORKS}: a network has no object of limits`);
    else {
      const limits: NetworkRule['limits'] = readNamed(own, NETWORK_LIMITS, (message) =>
        tell(`${NETWORKS}: ${message}`),
      );
      rules.push({ network, limits });
    }
  }
  return rules;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One address, without headers. */
const MAILTO = /^mailto:[a-z0-9.!#$%&*+=?^_{|}~-]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/i;
/** Nothing that would end a link where it is written in Markdown or HTML. */
const HTTPS = /^https:\/\/[a-z0-9._~:/?=&%+,;@!*$-]{1,500}$/i;

/** Where people reach the operator of this market in private. */
function contactVariable(): Variable<string | null> {
  const schema = z.string().transform((text, context) => {
    if (isContact(text)) return text;
    context.addIssue({ code: 'invalid_format', format: 'url' });
    return z.NEVER;
  });
  const must = 'mailto: with one address, or an https URL without user, password, fragment and brackets';
  return optional<string | null>(schema, must, null);
}

function isContact(text: string): boolean {
  if (MAILTO.test(text)) return true;
  const url = HTTPS.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === '' && url.password === '';
}

const NAMED = ['loopback', 'linklocal', 'uniquelocal'];

/** OPENAISLE_TRUST_PROXY: whom to believe about the client's address. Never "everybody": then every client could name itself. */
const readProxies: z.ZodType<false | string[], string> = z.string().transform((text, context) => {
  if (text === 'off') return false;
  const proxies = text.split(',').map((proxy) => proxy.trim());
  const all = proxies.every((proxy) => NAMED.includes(proxy) || (parseSubnet(proxy) !== null && !proxy.endsWith('/0')));
  if (all) return proxies;
  context.addIssue({ code: 'invalid_format', format: 'cidr' });
  return z.NEVER;
});

const DEFAULT_PORT = 4020;
const HIGHEST_PORT = 65_535;
const BYTES_PER_MB = 1_048_576;
const DEFAULT_FINALITY_MIN_AGE_SECONDS = 300;
const ONE_DAY_SECONDS = 86_400;
/** Where hosted clients publish what they are. */
const DEFAULT_HOSTED_HOSTS: readonly string[] = ['claude.ai', 'chatgpt.com', 'vscode.dev', 'opencode.ai'];

const text = z.string();

const variables = {
  OPENAISLE_HOST: hostVariable('127.0.0.1'),
  OPENAISLE_PORT: portVariable(DEFAULT_PORT),
  OPENAISLE_BASE_URL: originVariable(),
  OPENAISLE_METRICS_PORT: wholeNumberVariable(HIGHEST_PORT, 0),
  OPENAISLE_WORKERS: wholeNumberFrom(1, 64, 1),
  DATABASE_URL: databaseUrlVariable(),
  OPENAISLE_DATABASE_CONNECTIONS: wholeNumberFrom(1, 10_000, null),
  OPENAISLE_DATA_DIR: pathVariable('./data'),
  OPENAISLE_LOG_COPY_DIR: pathVariable(null),
  OPENAISLE_NETWORK: networkVariable(),
  OPENAISLE_RPC_URLS: rpcUrlsVariable(),
  OPENAISLE_FINALITY_MIN_AGE_SECONDS: wholeNumberVariable(ONE_DAY_SECONDS, DEFAULT_FINALITY_MIN_AGE_SECONDS),
  OPENAISLE_USDC_ADDRESS: optionalAddress(),
  OPENAISLE_TREASURY: requiredAddress(),
  OPENAISLE_FACILITATOR_URL: requiredHttpUrl(),
  OPENAISLE_FACILITATOR_AUTH: optional<string | null>(
    text.regex(/^[\x20-\x7e]{1,4096}$/),
    'the value of an HTTP header, in printable ASCII',
    null,
  ),
  OPENAISLE_CITY_URL: originVariable(),
  OPENAISLE_PEPPER_FILE: pathVariable(null),
  OPENAISLE_KEY_PREFIX: keyPrefixVariable('aisle'),
  OPENAISLE_DEPLOYMENT_COMMIT: optional<string | null>(
    text.regex(/^[0-9a-f]{7,64}$/),
    'a git commit: 7 to 64 lower-case hex digits',
    () => readGitCommit(resolve(import.meta.dirname, '../..')),
  ),
  OPENAISLE_SOURCE_URL: optionalHttpUrl(),
  OPENAISLE_EXPLORER_URL: httpUrlOrNone(),
  OPENAISLE_CONTACT: contactVariable(),
  OPENAISLE_LIMITS: optional<ConfiguredLimits>(readLimits, 'a JSON object of limit names and whole numbers', {
    limits: DEFAULT_LIMITS,
    networkLimits: [],
  }),
  OPENAISLE_DOORS: optional<ReadonlySet<IdentityDoor>>(
    text.transform((list, context) => {
      if (list === 'none') return new Set<IdentityDoor>();
      const names = list.split(',').map((name) => name.trim());
      const doors = IDENTITY_DOORS.filter((door) => names.includes(door));
      if (doors.length !== names.length) context.addIssue({ code: 'custom', message: 'a name is none of the doors' });
      return new Set(doors);
    }),
    `none, or a comma-separated list of ${IDENTITY_DOORS.join(', ')}`,
    () => new Set(IDENTITY_DOORS),
  ),
  OPENAISLE_HOSTED_HOSTS: optional<readonly string[]>(
    text
      .transform((list) => (list === 'none' ? [] : list.split(',').map((host) => host.trim())))
      .pipe(z.array(text.regex(/^(?!-)[a-z0-9-]+(?:\.[a-z0-9-]+)+$/))),
    'none, or a comma-separated list of host names in lower case',
    DEFAULT_HOSTED_HOSTS,
  ),
  OPENAISLE_CATALOG_MEMORY_MB: wholeNumberFrom(64, 65_536, 2_048),
  OPENAISLE_TRUST_PROXY: optional<false | string[]>(
    readProxies,
    'off, or a comma-separated list of addresses, networks (10.0.0.0/8), loopback, linklocal, uniquelocal',
    false,
  ),
};

/** Read by main.ts, for tests that kill the process. */
const READ_ELSEWHERE = ['OPENAISLE_TEST_CRASH_AT'];
const PEPPER = { databaseUrl: 'DATABASE_URL', pepperFile: 'OPENAISLE_PEPPER_FILE' };

/** The environment of W14. Throws a ConfigError that names every variable at fault and no value. */
export function readMarketConfig(env: Environment): MarketConfig {
  const known = { prefix: 'OPENAISLE_', others: READ_ELSEWHERE };
  const read = readEnvironment(env, variables, known, pepperFaults(env, PEPPER));
  const network = { ...read.OPENAISLE_NETWORK, usdc: read.OPENAISLE_USDC_ADDRESS ?? read.OPENAISLE_NETWORK.usdc };
  if (read.OPENAISLE_TREASURY === ZERO_ADDRESS || read.OPENAISLE_TREASURY === network.usdc) {
    throw new ConfigError(['OPENAISLE_TREASURY must be neither the zero address nor the USDC contract']);
  }
  if (read.OPENAISLE_METRICS_PORT === read.OPENAISLE_PORT) {
    throw new ConfigError(['OPENAISLE_METRICS_PORT must be another port than OPENAISLE_PORT']);
  }
  return {
    host: read.OPENAISLE_HOST,
    port: read.OPENAISLE_PORT,
    metricsPort: read.OPENAISLE_METRICS_PORT,
    workers: read.OPENAISLE_WORKERS,
    baseUrl: read.OPENAISLE_BASE_URL ?? localUrl(read.OPENAISLE_HOST, read.OPENAISLE_PORT),
    databaseUrl: read.DATABASE_URL,
    databaseConnections: read.OPENAISLE_DATABASE_CONNECTIONS,
    dataDir: read.OPENAISLE_DATA_DIR,
    logCopyDir: read.OPENAISLE_LOG_COPY_DIR,
    network,
    rpcUrls: read.OPENAISLE_RPC_URLS,
    finalityMinAgeSeconds: read.OPENAISLE_FINALITY_MIN_AGE_SECONDS,
    treasury: read.OPENAISLE_TREASURY,
    facilitatorUrl: read.OPENAISLE_FACILITATOR_URL,
    facilitatorAuth: read.OPENAISLE_FACILITATOR_AUTH,
    cityUrl: read.OPENAISLE_CITY_URL,
    pepperFile: read.OPENAISLE_PEPPER_FILE,
    keyPrefix: read.OPENAISLE_KEY_PREFIX,
    deploymentCommit: read.OPENAISLE_DEPLOYMENT_COMMIT,
    sourceUrl: read.OPENAISLE_SOURCE_URL,
    explorerUrl: read.OPENAISLE_EXPLORER_URL === undefined ? network.explorerUrl : read.OPENAISLE_EXPLORER_URL,
    contactUrl: read.OPENAISLE_CONTACT,
    ...read.OPENAISLE_LIMITS,
    catalogMemoryBytes: read.OPENAISLE_CATALOG_MEMORY_MB * BYTES_PER_MB,
    openDoors: read.OPENAISLE_DOORS,
    hostedHosts: read.OPENAISLE_HOSTED_HOSTS,
    trustProxy: read.OPENAISLE_TRUST_PROXY,
  };
}
