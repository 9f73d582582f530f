import { z } from 'zod';
import type { Network } from '../contract/vocabulary.ts';
import { type Environment, readEnvironment, required } from '../platform/config.ts';
import { hostVariable, networkVariable, pathVariable, portVariable, requiredHttpUrl } from '../platform/variables.ts';

export interface FacilitatorConfig {
  host: string;
  port: number;
  network: Network;
  rpcUrl: string;
  keyFile: string;
  dataDir: string;
}

const DEFAULT_PORT = 4021;

const variables = {
  FACILITATOR_HOST: hostVariable('127.0.0.1'),
  FACILITATOR_PORT: portVariable(DEFAULT_PORT),
  FACILITATOR_NETWORK: networkVariable(),
  FACILITATOR_RPC_URL: requiredHttpUrl(),
  FACILITATOR_KEY_FILE: required(z.string().min(1), 'the path of a file of mode 0600 with the private key'),
  FACILITATOR_DATA_DIR: pathVariable('./data'),
};

/** The environment of the facilitator (W14). Throws one ConfigError that names every fault and no value. */
export function readFacilitatorConfig(env: Environment): FacilitatorConfig {
  const read = readEnvironment(env, variables, { prefix: 'FACILITATOR_', others: [] });
  return {
    host: read.FACILITATOR_HOST,
    port: read.FACILITATOR_PORT,
    network: read.FACILITATOR_NETWORK,
    rpcUrl: read.FACILITATOR_RPC_URL,
    keyFile: read.FACILITATOR_KEY_FILE,
    dataDir: read.FACILITATOR_DATA_DIR,
  };
}
