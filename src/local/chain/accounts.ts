import { keccak256, parseAbi, stringToBytes } from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { DEFAULT_NETWORK } from '../../contract/vocabulary.ts';
import type { TokenDomain } from '../../platform/chain/shapes.ts';
import { type Hex, isHex } from '../../platform/hex.ts';

/**
 * WORTHLESS TEST KEYS. Anybody can derive them from this file, and on the local chain they sign for the domain of the real USDC. Never send
 * anything of value to one of these addresses.
 */
export interface TestAccount {
  name: string;
  /** In lower case. */
  address: Hex;
  key: Hex;
  signer: PrivateKeyAccount;
}

const KEY_PREFIX = 'openaisle worthless test key: ';
const accounts = new Map<string, TestAccount>();

/** Returns the same account for a name on every machine. Tests may use any number of names. */
export function testAccount(name: string): TestAccount {
  const existing = accounts.get(name);
  if (existing !== undefined) return existing;
  const key = keccak256(stringToBytes(KEY_PREFIX + name));
  const signer = privateKeyToAccount(key);
  const address = signer.address.toLowerCase();
  if (!isHex(address, 20)) throw new Error('viem returned a malformed address');
  const account = { name, address, key, signer };
  accounts.set(name, account);
  return account;
}

/** Roles of the token, each held by its own account as on the real network. */
export const USDC_ROLES = {
  /** Can only administer the proxy, which forwards none of its calls. */
  proxyAdmin: testAccount('usdc proxy admin'),
  owner: testAccount('usdc owner'),
  masterMinter: testAccount('usdc master minter'),
  minter: testAccount('usdc minter'),
  pauser: testAccount('usdc pauser'),
  blacklister: testAccount('usdc blacklister'),
  lostAndFound: testAccount('usdc lost and found'),
  deployer: testAccount('usdc deployer'),
} as const;

export const WORLD_ACCOUNTS = {
  treasury: testAccount('treasury'),
  /** Submits the authorizations of others and pays their gas. */
  facilitator: testAccount('facilitator'),
  sellerOne: testAccount('seller one'),
  sellerTwo: testAccount('seller two'),
  /** Sells things of the city, because a wallet sells either goods or things. */
  thingSeller: testAccount('thing seller'),
  buyerOne: testAccount('buyer one'),
  buyerTwo: testAccount('buyer two'),
  buyerThree: testAccount('buyer three'),
  stranger: testAccount('stranger'),
  /** For the visitor who tries the command line after the story. */
  guest: testAccount('guest'),
} as const;

/** Address of USDC on the network that the local chain imitates. */
export const USDC_ADDRESS: Hex = DEFAULT_NETWORK.usdc;

export function usdcDomain(chainId: number): TokenDomain {
  const { domainName: name, domainVersion: version } = DEFAULT_NETWORK;
  return { name, version, chainId: BigInt(chainId), verifyingContract: USDC_ADDRESS };
}

/** Write functions of the token, for the local world and tests. */
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
