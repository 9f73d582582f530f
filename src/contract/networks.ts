/**
 * The networks that a market can be on, and all that the code says of them. Another one instead of the first is a change here and
 * nowhere else: names, addresses and estimates in pages, texts, the SDK and the local world are taken from these rows.
 */
export const NETWORK_NAMES = ['base', 'base-sepolia'] as const;
export type NetworkName = (typeof NETWORK_NAMES)[number];

export interface Network {
  /** The name in the specification and in x402 v1. */
  name: NetworkName;
  /** For people. */
  displayName: string;
  /** Its money is worth nothing. */
  isTest: boolean;
  /** CAIP-2, the name in x402 v2. */
  caip2: `eip155:${number}`;
  chainId: bigint;
  /** Native USDC, lower case. */
  usdc: `0x${string}`;
  /** EIP-712 domain of that contract. */
  domainName: string;
  domainVersion: string;
  /** Has pages for `/address/...` and `/tx/...`. */
  explorerUrl: string;
  blockSeconds: number;
  /** What finality usually takes there, for honest estimates only. */
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

/** Where a market is that names none, and where the SDK pays unless it is told otherwise. */
export const DEFAULT_NETWORK: Network = NETWORKS[NETWORK_NAMES[0]];

/** `Base`, or `Base Sepolia, a network for tests`. */
export function describeNetwork({ displayName, isTest }: Network): string {
  return isTest ? `${displayName}, a network for tests` : displayName;
}
