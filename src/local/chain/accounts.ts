import { keccak256, stringToBytes } from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { type Hex, isHex } from '../../platform/hex.ts';

/**
 * WORTHLESS TEST KEYS. Anybody can derive them from this file, and on the local chain they sign for the domain of the real USDC.
 * Never send anything of value to one of these addresses.
 */
export interface TestAccount {
  name: string;
  /** Lower-case. */
  address: Hex;
  key: Hex;
  signer: PrivateKeyAccount;
}

const KEY_PREFIX = 'openaisle worthless test key: ';
const known = new Map<string, TestAccount>();

/** The same account for the same name, on every machine. Any name will do, for tests that need many payers. */
export function testAccount(name: string): TestAccount {
  const before = known.get(name);
  if (before !== undefined) return before;
  const key = keccak256(stringToBytes(KEY_PREFIX + name));
  const signer = privateKeyToAccount(key);
  const address = signer.address.toLowerCase();
  if (!isHex(address, 20)) throw new Error('viem gave an address out of form');
  const account = { name, address, key, signer };
  known.set(name, account);
  return account;
}

/** The roles of the token: as with the real one, each is held by an account of its own. */
export const USDC_ROLES = {
  /** Can only upgrade the proxy; the proxy passes none of its calls on. */
  proxyAdmin: testAccount('usdc proxy admin'),
  owner: testAccount('usdc owner'),
  masterMinter: testAccount('usdc master minter'),
  minter: testAccount('usdc minter'),
  pauser: testAccount('usdc pauser'),
  blacklister: testAccount('usdc blacklister'),
  lostAndFound: testAccount('usdc lost and found'),
  deployer: testAccount('usdc deployer'),
} as const;

/** Who plays in the local world. */
export const WORLD_ACCOUNTS = {
  /** Receives the listing fees. */
  treasury: testAccount('treasury'),
  /** Submits the authorizations of others and pays their gas. */
  facilitator: testAccount('facilitator'),
  sellerOne: testAccount('seller one'),
  sellerTwo: testAccount('seller two'),
  /** Sells things of the city: a wallet sells goods or things, never both. */
  thingSeller: testAccount('thing seller'),
  buyerOne: testAccount('buyer one'),
  buyerTwo: testAccount('buyer two'),
  buyerThree: testAccount('buyer three'),
  stranger: testAccount('stranger'),
  /** Who looks at the demonstration, and tries it by the command line. */
  guest: testAccount('guest'),
} as const;
