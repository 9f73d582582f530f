import { type PendingSettlementStore, x402Facilitator } from '@x402/core/facilitator';
import { type FacilitatorEvmSigner, verifyTypedDataSignature } from '@x402/evm';
import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import type { Abi, Log } from 'viem';
import { decodeFunctionResult, encodeFunctionData } from 'viem/utils';
import { callContract, type Receipt, readCode } from '../platform/chain/reads.ts';
import { type Hex, isHex } from '../platform/hex.ts';
import { awaitReceipt } from './await-receipt.ts';
import { ChainTrouble, isRevert, TransferRefused } from './chain-trouble.ts';
import type { Context } from './context.ts';
import { findLive, type Sender } from './create-sender.ts';
import type { PaymentRequest } from './read-request.ts';

/** The reference facilitator, wired up for one request. */
export interface Exchange {
  facilitator: x402Facilitator;
  /** The reference code turns a node that fails into a refusal; this remembers what really happened. */
  trouble(): Error | null;
}

const CALL_GAS = 1_000_000n;

export function openExchange(context: Context, sender: Sender, request: PaymentRequest, deadlineAt: number): Exchange {
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
  const signer = createSigner(context, sender, request, { noting, deadlineAt });
  const scheme = new ExactEvmScheme(signer, { pendingSettlementStore: pendingStore(context, request) });
  return {
    facilitator: new x402Facilitator().register(context.network.caip2, scheme),
    trouble: () => trouble,
  };
}

/**
 * The journal, as the reference code wants to see it. The journal knows a transaction from before its broadcast to a day after its end,
 * so there is nothing to set; and nothing to delete, or a crash between deleting and waiting would lose the hash.
 */
function pendingStore(context: Context, { authorization }: PaymentRequest): PendingSettlementStore {
  return {
    get: async () => findLive(context, authorization)?.hash,
    set: async (_, hash) => {
      if (context.journal.find(authorization)?.hash !== hash) throw new Error('a broadcast that is not in the journal');
    },
    delete: async () => {},
  };
}

interface Wiring {
  noting<T>(act: () => Promise<T>): Promise<T>;
  deadlineAt: number;
}

function createSigner(context: Context, sender: Sender, request: PaymentRequest, wiring: Wiring): FacilitatorEvmSigner {
  const { rpc, account, network } = context;
  const { noting } = wiring;
  const codes = new Map<string, Promise<Hex>>();
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
        const data = encodeFunctionData({ abi, functionName, args });
        const answer = await callContract(rpc, { to: lower(address), data, gas: CALL_GAS }, 'latest');
        return decodeFunctionResult({ abi, functionName, args, data: answer });
      }),
    verifyTypedData: (data) => verifyTypedDataSignature(signer, { ...data, types: data.types as TypedDataTypes }),
    writeContract: ({ address, functionName, args, ...given }) =>
      noting(async () => {
        // The one transaction that this key is for.
        if (lower(address) !== network.usdc || functionName !== 'transferWithAuthorization') {
          throw new Error('only transfers of the configured token are signed');
        }
        const data = encodeFunctionData({ abi: given.abi as Abi, functionName, args });
        return sender.send(request.authorization, data);
      }),
    sendTransaction: () => Promise.reject(new Error('only transfers of the configured token are signed')),
    waitForTransactionReceipt: ({ hash }) =>
      noting(async () => {
        const receipt = await awaitReceipt(context, hash, wiring.deadlineAt);
        if (receipt === null) throw new ChainTrouble('not mined yet');
        return { status: receipt.status, logs: receipt.logs.map(asViemLog) };
      }),
  };
  return signer;
}

type TypedDataTypes = Record<string, readonly { name: string; type: string }[]>;

function lower(address: string): Hex {
  const text = address.toLowerCase();
  if (!isHex(text, 20)) throw new TypeError('not an address');
  return text;
}

function asViemLog(log: Receipt['logs'][number]): Log {
  return { ...log, topics: log.topics as [Hex, ...Hex[]], transactionIndex: 0 };
}
