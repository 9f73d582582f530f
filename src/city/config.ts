import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { CITY_LIMITS, type CityLimits } from '../contract/city.ts';
import { type Environment, optional, readEnvironment } from '../platform/config.ts';
import {
  databaseUrlVariable,
  hostVariable,
  keyPrefixVariable,
  localUrl,
  networkVariable,
  optionalAddress,
  originVariable,
  pathVariable,
  pepperFaults,
  portVariable,
  type ReportFault,
  readLimitsObject,
  readNamed,
  requiredOrigin,
  rpcUrlsVariable,
  wholeNumberFrom,
  wholeNumberVariable,
} from '../platform/variables.ts';
import type { CityConfig } from './context.ts';

export const MIGRATIONS = fileURLToPath(new URL('../../migrations/city', import.meta.url));

const readLimits: z.ZodType<CityLimits, string> = z.string().transform((text, context) => {
  const report: ReportFault = (message) => context.addIssue({ code: 'custom', message });
  const changes = readLimitsObject(text, report);
  if (changes === null) return z.NEVER;
  return { ...CITY_LIMITS, ...readNamed(changes, Object.keys(CITY_LIMITS), report) };
});

const DEFAULT_PORT = 4022;
const DEFAULT_FINALITY_MIN_AGE_SECONDS = 300;
const ONE_DAY_SECONDS = 86_400;

const variables = {
  CITY_HOST: hostVariable('127.0.0.1'),
  CITY_PORT: portVariable(DEFAULT_PORT),
  CITY_BASE_URL: originVariable(),
  CITY_DATABASE_URL: databaseUrlVariable(),
  CITY_DATABASE_CONNECTIONS: wholeNumberFrom(1, 10_000, null),
  CITY_DATA_DIR: pathVariable('./data'),
  CITY_LOG_COPY_DIR: pathVariable(null),
  CITY_MARKET_URL: requiredOrigin(),
  CITY_NETWORK: networkVariable(),
  CITY_RPC_URLS: rpcUrlsVariable(),
  CITY_USDC_ADDRESS: optionalAddress(),
  CITY_FINALITY_MIN_AGE_SECONDS: wholeNumberVariable(ONE_DAY_SECONDS, DEFAULT_FINALITY_MIN_AGE_SECONDS),
  CITY_LIMITS: optional<CityLimits>(readLimits, 'a JSON object of limit names and whole numbers', CITY_LIMITS),
  CITY_PEPPER_FILE: pathVariable(null),
  CITY_KEY_PREFIX: keyPrefixVariable('city'),
};

const PEPPER = { databaseUrl: 'CITY_DATABASE_URL', pepperFile: 'CITY_PEPPER_FILE' };

/** Reads the CITY_ variables. Throws a ConfigError that names every faulty variable but shows no value. */
export function readCityConfig(env: Environment): CityConfig {
  const read = readEnvironment(env, variables, { prefix: 'CITY_', others: [] }, pepperFaults(env, PEPPER));
  return {
    host: read.CITY_HOST,
    port: read.CITY_PORT,
    baseUrl: read.CITY_BASE_URL ?? localUrl(read.CITY_HOST, read.CITY_PORT),
    databaseUrl: read.CITY_DATABASE_URL,
    databaseConnections: read.CITY_DATABASE_CONNECTIONS,
    // A subfolder, because the market has the same default folder and each site needs its own database and pepper.
    dataDir: join(read.CITY_DATA_DIR, 'city'),
    logCopyDir: read.CITY_LOG_COPY_DIR,
    marketUrl: read.CITY_MARKET_URL,
    network: { ...read.CITY_NETWORK, usdc: read.CITY_USDC_ADDRESS ?? read.CITY_NETWORK.usdc },
    rpcUrls: read.CITY_RPC_URLS,
    finalityMinAgeSeconds: read.CITY_FINALITY_MIN_AGE_SECONDS,
    limits: read.CITY_LIMITS,
    pepperFile: read.CITY_PEPPER_FILE,
    keyPrefix: read.CITY_KEY_PREFIX,
  };
}
