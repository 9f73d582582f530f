import { encodeFunctionData, getContractAddress } from 'viem';
import { type TestAccount, testAccount, USDC_ADDRESS, usdcWriteAbi } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { fund, send, waitForReceipt } from '../../src/local/chain/transactions.ts';
import { type Hex, isHex } from '../../src/platform/hex.ts';

const GAS_WEI = 10n ** 18n;
const MAGIC = `1626ba7e${'0'.repeat(56)}`;
/** Selector and two words. */
const TRANSFER_BYTES = '44';

/**
 * A wallet of one owner: it says yes to what the owner's key signed (EIP-1271), and passes every 68 bytes that it is called with on to
 * the token, so that one transaction can hold as many transfers as a test wants.
 */
function walletCode(owner: Hex): string {
  const usdc = USDC_ADDRESS.slice(2);
  const pieces = {
    // Where the call is isValidSignature: there.
    start: (to: Places) => `60003560e01c63${MAGIC.slice(0, 8)}1460${to.check}576000`,
    // [at] at < calldatasize ?
    loop: (to: Places) => `5b80361160${to.call}5700`,
    call: (to: Places) =>
      `5b60${TRANSFER_BYTES}816000376000600060${TRANSFER_BYTES}60006000` +
      `73${usdc}5af11560${to.fail}5760${TRANSFER_BYTES}0160${to.loop}56`,
    fail: () => '5b60006000fd',
    // ecrecover(hash, v, r, s) == owner
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
  /** Signs what the wallet says yes to. */
  owner: TestAccount;
  deploy(): Promise<void>;
  /** All in one transaction; resolves with its hash when it is mined. */
  transfer(...transfers: readonly { to: string; units: bigint }[]): Promise<Hex>;
  /** As if it were deployed: a plain transfer from its address. */
  transferUndeployed(to: string, units: bigint): Promise<Hex>;
}

let made = 0;

/** The address is known from the start; there is no code before `deploy`. */
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
      // Nothing can be deployed where something was sent from.
      await chain.rpc.call('anvil_setNonce', [address, '0x0']);
      return transactionHash;
    },
  };
}
