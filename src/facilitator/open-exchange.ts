import { x402Facilitator } from '@x402/core/facilitator';
import { type FacilitatorEvmSigner, verifyTypedDataSignature } from '@x402/evm';
import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import type { Abi } from 'viem';
import { decodeFunctionResult, encodeFunctionData } from 'viem/utils';
import { callContract, readCode } from '../platform/chain/reads.ts';
import { type Hex, isHex } from '../platform/hex.ts';
import { ChainTrouble, isRevert, TransferRefused } from './chain-trouble.ts';
import type { Context } from './context.ts';

/** The reference facilitator, wired up for one check of one request. It signs and sends nothing. */
export interface Exchange {
  facilitator: x402Facilitator;
  /** The reference code turns a node that fails into a refusal; this remembers what really happened. */
  trouble(): Error | null;
}

/** Whether the transfer is tried on the node now, or comes to that later. */
export type Rehearsal = 'now' | 'later';

const CALL_GAS = 1_000_000n;
const TRANSFER = 'transferWithAuthorization';

export function openExchange(context: Context, rehearsal: Rehearsal): Exchange {
  let trouble: Error | null = null;
  const noting = async <T>(act: () => Promise<T>): Promise<T> => {
    try {
      return await act();
    } catch (error) {
      if (!isRevert(error) && !(error instanceof TransferRefused)) {
        trouble ??= error instanceof Error ? error : new ChainTrouble(String(error));
      }
      throw error;
    }
  };
  const scheme = new ExactEvmScheme(createSigner(context, rehearsal, noting));
  return {
    facilitator: new x402Facilitator().register(context.network.caip2, scheme),
    trouble: () => trouble,
  };
}

type Noting = <T>(act: () => Promise<T>) => Promise<T>;

function createSigner(context: Context, rehearsal: Rehearsal, noting: Noting): FacilitatorEvmSigner {
  const { rpc, account, quoteGas } = context;
  const codes = new Map<string, Promise<Hex>>();
  const never = (): Promise<never> => Promise.reject(new Error('nothing is sent by the reference code'));
  const signer: FacilitatorEvmSigner = {
    getAddresses: () => [account.address],
    getCode: ({ address }) =>
      noting(() => {
        const code = codes.get(address) ?? readCode(rpc, address, 'latest');
        codes.set(address, code);
        return code;
      }),
    readContract: ({ address, functionName, args = [], ...given }) =>
      noting(async () => {
        const abi = given.abi as Abi;
        if (functionName === TRANSFER && rehearsal === 'later') return undefined;
        const data = encodeFunctionData({ abi, functionName, args });
        if (functionName === TRANSFER) return void (await quoteGas.call(data));
        const answer = await callContract(rpc, { to: lower(address), data, gas: CALL_GAS }, 'latest');
        return decodeFunctionResult({ abi, functionName, args, data: answer });
      }),
    verifyTypedData: (data) => verifyTypedDataSignature(signer, { ...data, types: data.types as TypedDataTypes }),
    writeContract: never,
    sendTransaction: never,
    waitForTransactionReceipt: never,
  };
  return signer;
}

type TypedDataTypes = Record<string, readonly { name: string; type: string }[]>;

function lower(address: string): Hex {
  const text = address.toLowerCase();
  if (!isHex(text, 20)) throw new TypeError('not an address');
  return text;
}
