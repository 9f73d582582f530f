import { encodeFunctionData, getContractAddress } from 'viem';
import { type TestAccount, testAccount, USDC_ADDRESS, usdcWriteAbi } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { fund, send, waitForReceipt } from '../../src/local/chain/transactions.ts';
import { type Hex, isHex } from '../../src/platform/hex.ts';

const GAS_WEI = 10n ** 18n;
const MAGIC = `1626ba7e${'0'.repeat(56)}`;
/** Length of a transfer's call data in hex: 68 bytes, which are the selector and two words. */
const TRANSFER_BYTES = '44';

/**
 * Returns the code of a wallet with one owner. It accepts the owner's signatures (EIP-1271) and forwards each 68-byte slice of its call
 * data to the token, so one transaction can hold any number of transfers.
 */
function walletCode(owner: Hex): string {
  const usdc = USDC_ADDRESS.slice(2);
  const pieces = {
    // Jump to `check` if the call is isValidSignature.
    start: (to: Places) => `60003560e01c63${MAGIC.slice(0, 8)}1460${to.check}576000`,
    // Continue while at < calldatasize.
    loop: (to: Places) => `5b80361160${to.call}5700`,
    call: (to: Places) =>
      `5b60${TRANSFER_BYTES}816000376000600060${TRANSFER_BYTES}60006000` +
      `73${usdc}5af11560${to.fail}5760${TRANSFER_BYTES}0160${to.loop}56`,
    fail: () => '5b60006000fd',
    // Compare ecrecover(hash, v, r, s) with the owner.
    check: () =>
      `5b60043560005260a43560f81c602052606435604052608435606052602060806080600060015afa50` +
      `60805173${owner.slice(2)}147f${MAGIC}0260005260206000f3`,
  };
  const names = ['start', 'loop', 'call', 'fail', 'check'] as const;
  const nowhere: Places = { loop: '00', call: '00', fail: '00', check: '00' };
  const places: Places = { ...nowhere };
  let at = 0;
  for (const name of names) {
    if (name !== 'start') places[name] = at.toString(16).padStart(2, '0');
    at += pieces[name](nowhere).length / 2;
  }
  return names.map((name) => pieces[name](places)).join('');
}

type Places = Record<'loop' | 'call' | 'fail' | 'check', string>;

export interface ContractWallet {
  address: Hex;
  owner: TestAccount;
  deploy(): Promise<void>;
  /** Makes all transfers in one transaction. Resolves with its hash once it is mined. */
  transfer(...transfers: readonly { to: string; units: bigint }[]): Promise<Hex>;
  /** Makes a plain transfer from the wallet's address while it has no code. */
  transferUndeployed(to: string, units: bigint): Promise<Hex>;
}

let made = 0;

/** Prepares a wallet. Its address is known at once, but it has code only after `deploy`. */
export async function createContractWallet(chain: LocalChain, usdcUnits: bigint): Promise<ContractWallet> {
  made += 1;
  const owner = testAccount(`owner of contract wallet ${made}`);
  const address = getContractAddress({ from: owner.address, nonce: 0n }).toLowerCase() as Hex;
  await fund(chain, [
    { address: owner.address, wei: GAS_WEI },
    { address, usdcUnits, wei: GAS_WEI },
  ]);
  const code = walletCode(owner.address);
  const size = (code.length / 2).toString(16).padStart(4, '0');
  const dataOf = ({ to, units }: { to: string; units: bigint }): Hex =>
    encodeFunctionData({ abi: usdcWriteAbi, functionName: 'transfer', args: [to.toLowerCase() as Hex, units] });
  return {
    address,
    owner,
    deploy: async () => {
      const { status } = await send(chain, owner, { data: `0x61${size}80600c6000396000f3${code}` });
      if (status !== 'success') throw new Error('the wallet was not deployed');
    },
    transfer: async (...transfers) => {
      const data: Hex = `0x${transfers.map((one) => dataOf(one).slice(2)).join('')}`;
      return (await send(chain, owner, { to: address, data })).transactionHash;
    },
    transferUndeployed: async (to, units) => {
      await chain.rpc.call('anvil_impersonateAccount', [address]);
      const hash = await chain.rpc.call('eth_sendTransaction', [
        { from: address, to: USDC_ADDRESS, data: dataOf({ to, units }) },
      ]);
      await chain.rpc.call('anvil_stopImpersonatingAccount', [address]);
      if (!isHex(hash, 32)) throw new Error('the node gave no transaction hash');
      const { transactionHash } = await waitForReceipt(chain, hash);
      // Reset the account nonce, because no contract can be deployed at an address that has sent a transaction.
      await chain.rpc.call('anvil_setNonce', [address, '0x0']);
      return transactionHash;
    },
  };
}
