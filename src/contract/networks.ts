/**
 * Networks that a market can run on. To change the default, change only this table: pages, texts, the SDK and the local world take names,
 * addresses and estimates from it.
 */
export const NETWORK_NAMES = ['base', 'base-sepolia'] as const;
export type NetworkName = (typeof NETWORK_NAMES)[number];

export interface Network {
  /** Name in x402 v1. */
  name: NetworkName;
  displayName: string;
  /** True for a test network, whose money has no value. */
  isTest: boolean;
  /** Name in x402 v2 (CAIP-2). */
  caip2: `eip155:${number}`;
  chainId: bigint;
  /** Address of native USDC, in lower case. */
  usdc: `0x${string}`;
  /** EIP-712 domain of the USDC contract. */
  domainName: string;
  domainVersion: string;
  /** Base URL of an explorer that serves `/address/...` and `/tx/...`. */
  explorerUrl: string;
  blockSeconds: number;
  /** Usual time until finality in seconds. Used only for estimates. */
  finalitySeconds: number;
}

export const NETWORKS: Readonly<Record<NetworkName, Network>> = {
  base: {
    name: 'base',
    displayName: 'Base',
    isTest: false,
    caip2: 'eip155:8453',
    chainId: 8453n,
    usdc: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
    domainName: 'USD Coin',
    domainVersion: '2',
    explorerUrl: 'https://basescan.org',
    blockSeconds: 2,
    finalitySeconds: 1_200,
  },
  'base-sepolia': {
    name: 'base-sepolia',
    displayName: 'Base Sepolia',
    isTest: true,
    caip2: 'eip155:84532',
    chainId: 84532n,
    usdc: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
    domainName: 'USDC',
    domainVersion: '2',
    explorerUrl: 'https://sepolia.basescan.org',
    blockSeconds: 2,
    finalitySeconds: 1_200,
  },
};

export const DEFAULT_NETWORK: Network = NETWORKS[NETWORK_NAMES[0]];

/** Returns `Base`, or `Base Sepolia, a test network`. */
export function describeNetwork({ displayName, isTest }: Network): string {
  return isTest ? `${displayName}, a test network` : displayName;
}
