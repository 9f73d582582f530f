import { encodeFunctionData } from 'viem';
import { AUTHORIZATION_TYPES } from '../../src/contract/authorization-types.ts';
import {
  type TestAccount,
  USDC_ADDRESS,
  USDC_ROLES,
  usdcDomain,
  usdcWriteAbi,
  WORLD_ACCOUNTS,
} from '../../src/local/chain/accounts.ts';
import { deployUsdc } from '../../src/local/chain/deploy-usdc.ts';
import { type ChainOptions, type LocalChain, startChain } from '../../src/local/chain/start-chain.ts';
import { fund, send } from '../../src/local/chain/transactions.ts';
import type { Receipt } from '../../src/platform/chain/reads.ts';
import type { Authorization } from '../../src/platform/chain/shapes.ts';
import { type Hex, isHex } from '../../src/platform/hex.ts';

const WEI = 10_000n * 10n ** 18n;
export const FUNDED_UNITS = 1_000_000_000n;

/** Environment variable that names the file with the initial state of test chains. The global setup writes that file. */
export const CHAIN_STATE = 'OPENAISLE_TEST_CHAIN_STATE';

/** Starts a chain for a test file: USDC is deployed, and every world account has 10,000 ether and 1,000 USDC. */
export async function startTestChain(options: ChainOptions = {}): Promise<LocalChain> {
  const loadFile = process.env[CHAIN_STATE];
  if (loadFile !== undefined && options.stateFile === undefined && options.chainId === undefined)
    return await startChain({ ...options, loadFile });
  const chain = await startChain(options);
  try {
    await deployUsdc(chain);
    const accounts = Object.values(WORLD_ACCOUNTS);
    await fund(
      chain,
      accounts.map(({ address }) => ({ address, usdcUnits: FUNDED_UNITS, wei: WEI })),
    );
    return chain;
  } catch (error) {
    await chain.kill();
    throw error;
  }
}

/** Returns functions that send transactions to the token. Each resolves with the receipt, whose status shows a revert. */
export function usdcAdmin(chain: LocalChain) {
  const abi = usdcWriteAbi;
  const run = (from: TestAccount, data: Hex): Promise<Receipt> => send(chain, from, { to: USDC_ADDRESS, data });
  const { pauser, blacklister, minter } = USDC_ROLES;
  return {
    pause: () => run(pauser, encodeFunctionData({ abi, functionName: 'pause' })),
    unpause: () => run(pauser, encodeFunctionData({ abi, functionName: 'unpause' })),
    blacklist: (account: Hex) =>
      run(blacklister, encodeFunctionData({ abi, functionName: 'blacklist', args: [account] })),
    unBlacklist: (account: Hex) =>
      run(blacklister, encodeFunctionData({ abi, functionName: 'unBlacklist', args: [account] })),
    mint: (to: Hex, units: bigint) => run(minter, encodeFunctionData({ abi, functionName: 'mint', args: [to, units] })),
    transfer: (from: TestAccount, to: Hex, units: bigint) =>
      run(from, encodeFunctionData({ abi, functionName: 'transfer', args: [to, units] })),
    /** Any sender may submit an authorization. */
    settleAuthorization: (sender: TestAccount, authorization: Authorization, signature: Hex) =>
      run(sender, settleData(authorization, signature)),
    cancelAuthorization: async (sender: TestAccount, authorizer: TestAccount, nonce: Hex) => {
      const signature = await signCancellation(chain, authorizer, nonce);
      const args = [authorizer.address, nonce, signature] as const;
      return run(sender, encodeFunctionData({ abi, functionName: 'cancelAuthorization', args }));
    },
  };
}

export function settleData(authorization: Authorization, signature: Hex): Hex {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const args = [from, to, value, validAfter, validBefore, nonce, signature] as const;
  return encodeFunctionData({ abi: usdcWriteAbi, functionName: 'transferWithAuthorization', args });
}

export async function signAuthorization(
  chain: LocalChain,
  payer: TestAccount,
  authorization: Authorization,
): Promise<Hex> {
  return payer.signer.signTypedData({
    domain: usdcDomain(chain.chainId),
    types: AUTHORIZATION_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: authorization,
  });
}

async function signCancellation(chain: LocalChain, authorizer: TestAccount, nonce: Hex): Promise<Hex> {
  return authorizer.signer.signTypedData({
    domain: usdcDomain(chain.chainId),
    types: {
      CancelAuthorization: [
        { name: 'authorizer', type: 'address' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'CancelAuthorization',
    message: { authorizer: authorizer.address, nonce },
  });
}

/** Returns a transaction's signed bytes, to send it again after a reorg. */
export async function rawTransaction(chain: LocalChain, hash: Hex): Promise<Hex> {
  const raw = await chain.rpc.call('eth_getRawTransactionByHash', [hash]);
  if (!isHex(raw)) throw new Error(`the node does not know transaction ${hash}`);
  return raw;
}

/**
 * Replaces the last `depth` blocks and drops their transactions, except those in `keep`: pairs of signed bytes and the index (from 0) of
 * the new block that includes them. May go below the finalized head.
 */
export async function reorg(chain: LocalChain, depth: number, keep: readonly [Hex, number][] = []): Promise<void> {
  await chain.rpc.call('anvil_reorg', [depth, keep]);
}
