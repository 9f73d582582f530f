import { type TestAccount, testAccount } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { type Hex, isHex } from '../../src/platform/hex.ts';

const MAGIC = `1626ba7e${'0'.repeat(56)}`;
const USDC_UNITS = 1_000_000_000n;

/** Conditions under which a wallet accepts any signature, as bytecode that leaves 0 on the stack while the condition holds. */
const CONDITIONS = {
  /** Holds while no gas price is set, as in a plain `eth_call`: `gasprice`. */
  unpriced: () => '3a',
  /** Holds while that account has no ether: `balance(address)`. One transfer changes all wallets at once. */
  untilPaid: (to: Hex) => `73${to.slice(2)}31`,
  /** Holds while the wallet itself has no ether: `balance(this)`. All such wallets have the same code. */
  untilOwnEther: () => '3031',
} as const;

/** Bytecode that accepts ether, which comes without call data. */
const TAKES_ETHER = '36600557005b';

/** Returns the code of a wallet that either accepts any signature or burns all gas. */
function codeOf(asked: string): Hex {
  const condition = `${TAKES_ETHER}${asked}`;
  const yes = `7f${MAGIC}60005260206000f3`;
  const place = (condition.length / 2 + 3 + yes.length / 2).toString(16).padStart(2, '0');
  return `0x${condition}60${place}57${yes}5b60${place}56`;
}

export type Treachery = { kind: 'unpriced' } | { kind: 'untilPaid'; to: Hex } | { kind: 'untilOwnEther' };

/** Creates a contract wallet with USDC that accepts any signature while its condition holds, so its account's key can sign for it. */
export async function treacherousWallet(chain: LocalChain, name: string, how: Treachery): Promise<TestAccount> {
  const wallet = testAccount(`treacherous wallet ${name}`);
  await fund(chain, [{ address: wallet.address, usdcUnits: USDC_UNITS, wei: 0n }]);
  const condition = how.kind === 'untilPaid' ? CONDITIONS.untilPaid(how.to) : CONDITIONS[how.kind]();
  await chain.rpc.call('anvil_setCode', [wallet.address, codeOf(condition)]);
  return wallet;
}

/** Submits a transaction ahead of all pending ones by paying ten times their fee. */
export async function submitFirst(
  chain: LocalChain,
  from: TestAccount,
  call: { to: Hex; data?: Hex; value?: bigint },
): Promise<Hex> {
  const nonce = Number(await chain.rpc.call('eth_getTransactionCount', [from.address, 'pending']));
  const fees = { maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 10_000_000_000n };
  const type = 'eip1559';
  const signed = await from.signer.signTransaction({
    type,
    chainId: chain.chainId,
    nonce,
    gas: 500_000n,
    ...fees,
    ...call,
  });
  const hash = await chain.rpc.call('eth_sendRawTransaction', [signed]);
  if (!isHex(hash, 32)) throw new Error('the node gave no transaction hash');
  return hash;
}
