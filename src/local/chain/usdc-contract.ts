import { parseAbi } from 'viem';
import { DEFAULT_NETWORK } from '../../contract/vocabulary.ts';
import type { TokenDomain } from '../../platform/chain/authorization.ts';
import type { Hex } from '../../platform/hex.ts';

/** Where USDC is on the network that the local chain stands for. */
export const USDC_ADDRESS: Hex = DEFAULT_NETWORK.usdc;

export function usdcDomain(chainId: number): TokenDomain {
  const { domainName: name, domainVersion: version } = DEFAULT_NETWORK;
  return { name, version, chainId: BigInt(chainId), verifyingContract: USDC_ADDRESS };
}

/** The token's functions that change something, for the local world and its tests. */
export const usdcWriteAbi = parseAbi([
  'function initialize(string name, string symbol, string currency, uint8 decimals, address masterMinter, address pauser, address blacklister, address owner)',
  'function initializeV2(string name)',
  'function initializeV2_1(address lostAndFound)',
  'function initializeV2_2(address[] accountsToBlacklist, string symbol)',
  'function configureMinter(address minter, uint256 allowance)',
  'function isMinter(address account) view returns (bool)',
  'function mint(address to, uint256 amount)',
  'function transfer(address to, uint256 value)',
  'function pause()',
  'function unpause()',
  'function blacklist(address account)',
  'function unBlacklist(address account)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
  'function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)',
]);
