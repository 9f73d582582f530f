import { z } from 'zod';
import type { Network } from '../contract/vocabulary.ts';
import { type Environment, optional, readEnvironment, required, type Variable } from '../platform/config.ts';
import {
  hostVariable,
  networkVariable,
  pathVariable,
  portVariable,
  readLimitsObject,
  readNamed,
  requiredHttpUrl,
  wholeNumberVariable,
} from '../platform/variables.ts';
import { DEFAULT_LIMITS, ETHER_USDC, LIMIT_NAMES, type Limits } from './budget/gas-budget.ts';

export interface FacilitatorConfig {
  host: string;
  port: number;
  network: Network;
  rpcUrl: string;
  keyFile: string;
  dataDir: string;
  /** The Authorization header that callers must send. Null admits everyone. */
  auth: string | null;
  limits: Limits;
  etherUsdc: number;
  /** 0 disables the metrics server. */
  metricsPort: number;
}

const DEFAULT_PORT = 4021;
const MAX_ETHER_USDC = 1_000_000;
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/i;

const variables = {
  FACILITATOR_HOST: hostVariable('127.0.0.1'),
  FACILITATOR_PORT: portVariable(DEFAULT_PORT),
  FACILITATOR_NETWORK: networkVariable(),
  FACILITATOR_RPC_URL: requiredHttpUrl(),
  FACILITATOR_KEY_FILE: required(z.string().min(1), 'the path of a file of mode 0600 with the private key'),
  FACILITATOR_DATA_DIR: pathVariable('./data'),
  FACILITATOR_AUTH: optional<string | null>(
    z.string().regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/),
    'the value of a header, in visible ASCII characters',
    null,
  ),
  FACILITATOR_LIMITS: limitsVariable(),
  FACILITATOR_ETHER_USDC: wholeNumberVariable(MAX_ETHER_USDC, ETHER_USDC),
  FACILITATOR_METRICS_PORT: wholeNumberVariable(65_535, 0),
};

/** Reads the FACILITATOR_ variables. Throws one ConfigError that lists all faults and no values. */
export function readFacilitatorConfig(env: Environment): FacilitatorConfig {
  const read = readEnvironment(env, variables, { prefix: 'FACILITATOR_', others: [] }, authFaults(env));
  return {
    host: read.FACILITATOR_HOST,
    port: read.FACILITATOR_PORT,
    network: read.FACILITATOR_NETWORK,
    rpcUrl: read.FACILITATOR_RPC_URL,
    keyFile: read.FACILITATOR_KEY_FILE,
    dataDir: read.FACILITATOR_DATA_DIR,
    auth: read.FACILITATOR_AUTH,
    limits: { ...DEFAULT_LIMITS, ...read.FACILITATOR_LIMITS },
    etherUsdc: read.FACILITATOR_ETHER_USDC,
    metricsPort: read.FACILITATOR_METRICS_PORT,
  };
}

/** Requires a password outside of loopback, because every client that reaches the server can spend the operator's gas. */
function authFaults(env: Environment): string[] {
  const [host = '', auth = ''] = [env['FACILITATOR_HOST']?.trim(), env['FACILITATOR_AUTH']?.trim()];
  if (host === '' || LOOPBACK.test(host) || auth !== '') return [];
  return [
    'FACILITATOR_AUTH is required unless FACILITATOR_HOST is a loopback address: the Authorization that callers must send',
  ];
}

function limitsVariable(): Variable<Partial<Limits>> {
  const schema = z.string().transform((text, context): Partial<Limits> => {
    const report = (message: string): void => void context.addIssue({ code: 'custom', message });
    return readNamed(readLimitsObject(text, report) ?? {}, LIMIT_NAMES, report);
  });
  return optional<Partial<Limits>>(schema, 'a JSON object of named limits', {});
}
