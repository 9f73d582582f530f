import { z } from 'zod';
import { NETWORKS, type Network } from '../contract/vocabulary.ts';
import { parseEndpoint } from '../platform/chain/endpoint.ts';

export interface FacilitatorConfiguration {
  host: string;
  port: number;
  network: Network;
  rpcUrl: string;
  keyFile: string;
  dataDir: string;
}

/** Carries names and what they must be, never a value: an RPC address may hold a key. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

const PREFIX = 'FACILITATOR_';
const NAMES = ['base', 'base-sepolia'] as const;

const text = z.string().min(1);
const SHAPES = {
  FACILITATOR_HOST: { shape: text.default('127.0.0.1'), mustBe: 'an address to listen on' },
  FACILITATOR_PORT: {
    shape: z
      .string()
      .regex(/^\d{1,5}$/)
      .default('4021')
      .transform(Number)
      .refine((port) => port <= 65_535),
    mustBe: 'a port number from 0 to 65535',
  },
  FACILITATOR_NETWORK: { shape: z.enum(NAMES).default('base'), mustBe: `one of ${NAMES.join(', ')}` },
  FACILITATOR_RPC_URL: {
    shape: text.refine((url) => isEndpoint(url)),
    mustBe: 'the http or https address of a JSON-RPC node (required)',
  },
  FACILITATOR_KEY_FILE: { shape: text, mustBe: 'the path of a file of mode 0600 with the private key (required)' },
  FACILITATOR_DATA_DIR: { shape: text.default('./data'), mustBe: 'the path of a folder' },
} as const;

export function readConfiguration(environment: Readonly<Record<string, string | undefined>>): FacilitatorConfiguration {
  const problems = Object.keys(environment)
    .filter((name) => name.startsWith(PREFIX) && !Object.hasOwn(SHAPES, name))
    .map((name) => `${name} is not a variable of the facilitator`);
  const read = <Name extends keyof typeof SHAPES>(name: Name): z.output<(typeof SHAPES)[Name]['shape']> | undefined => {
    const { shape, mustBe } = SHAPES[name];
    const result = shape.safeParse(environment[name]);
    if (!result.success) problems.push(`${name} must be ${mustBe}`);
    return result.data as z.output<(typeof SHAPES)[Name]['shape']> | undefined;
  };
  const host = read('FACILITATOR_HOST');
  const port = read('FACILITATOR_PORT');
  const network = read('FACILITATOR_NETWORK');
  const rpcUrl = read('FACILITATOR_RPC_URL');
  const keyFile = read('FACILITATOR_KEY_FILE');
  const dataDir = read('FACILITATOR_DATA_DIR');
  const complete =
    host !== undefined &&
    port !== undefined &&
    network !== undefined &&
    rpcUrl !== undefined &&
    keyFile !== undefined &&
    dataDir !== undefined;
  if (problems.length > 0 || !complete) throw new ConfigurationError(problems.join('; '));
  return { host, port, network: NETWORKS[network], rpcUrl, keyFile, dataDir };
}

function isEndpoint(url: string): boolean {
  try {
    parseEndpoint(url);
    return true;
  } catch {
    return false;
  }
}
