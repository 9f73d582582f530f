import { type TestAccount, testAccount } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { type Hex, isHex } from '../../src/platform/hex.ts';

const MAGIC = `1626ba7e${'0'.repeat(56)}`;
const USDC_UNITS = 1_000_000_000n;

/** When a wallet says yes to any signature, as code that leaves something other than 0 on the stack when it does not. */
const CONDITIONS = {
  /** Where no gas price is shown, as in a plain `eth_call`: `gasprice`. */
  unpriced: () => '3a',
  /** While that account holds no ether: `balance(address)`. One transfer turns all wallets at once. */
  untilPaid: (to: Hex) => `73${to.slice(2)}31`,
  /** While it holds no ether itself: `balance(this)`. The code of all such wallets is the same. */
  untilOwnEther: () => '3031',
} as const;

/** Takes ether, which comes without data. */
const TAKES_ETHER = '36600557005b';

/** Says yes, or takes all the gas there is. */
function codeOf(asked: string): Hex {
  const condition = `${TAKES_ETHER}${asked}`;
  const yes = `7f${MAGIC}60005260206000f3`;
  const place = (condition.length / 2 + 3 + yes.length / 2).toString(16).padStart(2, '0');
  return `0x${condition}60${place}57${yes}5b60${place}56`;
}

export type Treachery = { kind: 'unpriced' } | { kind: 'untilPaid'; to: Hex } | { kind: 'untilOwnEther' };

/** A contract wallet with USDC in it. It takes any signature, so the key of the account it is named by signs for nothing. */
export async function treacherousWallet(chain: LocalChain, name: string, how: Treachery): Promise<TestAccount> {
  const wallet = testAccount(`treacherous wallet ${name}`);
  await fund(chain, [{ address: wallet.address, usdcUnits: USDC_UNITS, wei: 0n }]);
  const condition = how.kind === 'untilPaid' ? CONDITIONS.untilPaid(how.to) : CONDITIONS[how.kind]();
  await chain.rpc.call('anvil_setCode', [wallet.address, codeOf(condition)]);
  return wallet;
}

/** Comes before all that wait: it pays the block ten times as much as others do. */
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
