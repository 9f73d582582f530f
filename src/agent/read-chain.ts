import { createPublicClient, erc20Abi, type Hex, http, isAddressEqual, parseEventLogs } from 'viem';
import type { z } from 'zod';
import { formed, type OwnWords, ofOwner, ofSource, own } from '../contract/own-words.ts';
import type { receiptOut } from '../contract/payments.ts';
import { NETWORKS, type Network } from '../contract/vocabulary.ts';
import { type Environment, systemEnvironment } from '../sdk/environment.ts';
import { AgentError } from './agent-error.ts';

export type Receipt = z.output<typeof receiptOut>;

/** `final`: a block that the chain will not take back holds exactly that transfer. Anything else says what is wrong. */
export type TransferFound =
  | { status: 'final'; detail: OwnWords }
  | { status: 'not_final' | 'not_found' | 'differs'; detail: OwnWords };

/** What is read over one RPC address, without trust in the market. */
export interface ChainReader {
  readonly network: Network;
  /** Units of USDC of the wallet, at the latest block. */
  readBalance(address: Hex): Promise<bigint>;
  findTransfer(receipt: Receipt): Promise<TransferFound>;
  /** At the latest block; `0x` where there is none. */
  readCode(address: Hex): Promise<Hex>;
}

const TIMEOUT_MS = 15_000;

/**
 * Reads the chain that answers at this address; which network it is, the node says. The address is kept out of errors but for its host,
 * since it often holds a key; why nothing can be read is told as a code. Throws `wrong_use` for what is no address, `chain_unreadable` and `wrong_network`.
 */
export async function openChain(
  rpcUrl: string,
  environment: Pick<Environment, 'fetch' | 'deadline'> = systemEnvironment,
): Promise<ChainReader> {
  // Node 20 has no URL.parse before its last releases.
  const url = URL.canParse(rpcUrl) ? new URL(rpcUrl) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    const title = own`The address of the RPC endpoint must be http or https`;
    throw new AgentError('wrong_use', { reason: 'wrong_use', title });
  }
  const client = createPublicClient({
    transport: http(rpcUrl, { fetchFn: endingFetch(environment), timeout: TIMEOUT_MS, retryCount: 2 }),
  });
  const asked = async <T>(read: Promise<T>): Promise<T> => {
    try {
      return await read;
    } catch (error) {
      const nextStep = own`Look at --rpc (or OPENAISLE_RPC), or name another endpoint.`;
      const cause = causeOf(error);
      const why = cause === null ? own`` : own` (${cause})`;
      const title = own`The RPC endpoint at ${ofOwner(url.host)} gave no answer that can be used${why}`;
      throw new AgentError('refused', { reason: 'chain_unreadable', title, nextStep });
    }
  };
  const chainId = BigInt(await asked(client.getChainId()));
  const network = Object.values(NETWORKS).find((one) => one.chainId === chainId);
  if (network === undefined) {
    const title = own`The RPC endpoint at ${ofOwner(url.host)} is for chain ${chainId}, which no market of this version is on`;
    throw new AgentError('refused', { reason: 'wrong_network', title });
  }

  const findTransfer = async (receipt: Receipt): Promise<TransferFound> => {
    const hash = receipt.tx_hash as Hex;
    const [found, final] = await Promise.all([
      // A hash that the node does not know is an error to viem; whether the node answers at all the other call shows.
      client.getTransactionReceipt({ hash }).catch(() => null),
      asked(client.getBlock({ blockTag: 'finalized' })),
    ]);
    if (found === null)
      return {
        status: 'not_found',
        detail: own`no transaction ${formed('hash', hash)} on ${ofSource(network.displayName)}`,
      };
    const block = await asked(client.getBlock({ blockNumber: found.blockNumber }));
    if (block.hash !== found.blockHash || found.blockNumber > final.number)
      return { status: 'not_final', detail: own`block ${found.blockNumber}; final up to ${final.number}` };
    if (block.hash !== receipt.block_hash || Number(found.blockNumber) !== receipt.block_number)
      return { status: 'differs', detail: own`it is in block ${found.blockNumber}, not in the one of the receipt` };
    const usdc = found.logs.filter(({ address }) => isAddressEqual(address, network.usdc));
    const fits = parseEventLogs({ abi: erc20Abi, eventName: 'Transfer', logs: usdc }).some(
      ({ args }) =>
        isAddressEqual(args.from, receipt.payer as Hex) &&
        isAddressEqual(args.to, receipt.payee as Hex) &&
        // Compares texts: a receipt may hold a number of any length.
        args.value.toString() === receipt.amount_units,
    );
    if (found.status !== 'success' || !fits)
      return { status: 'differs', detail: own`the transaction holds no such transfer of USDC` };
    return { status: 'final', detail: own`block ${found.blockNumber}; final up to ${final.number}` };
  };

  return {
    network,
    readBalance: (address) =>
      asked(client.readContract({ address: network.usdc, abi: erc20Abi, functionName: 'balanceOf', args: [address] })),
    findTransfer,
    readCode: async (address) => (await asked(client.getCode({ address }))) ?? '0x',
  };
}

/** The time limit of viem ends with the headers; this one ends a body that never ends, too. */
function endingFetch(environment: Pick<Environment, 'fetch' | 'deadline'>) {
  return (to: unknown, init: RequestInit = {}): Promise<Response> => {
    const ends = environment.deadline(TIMEOUT_MS);
    const signal = init.signal == null ? ends : AbortSignal.any([init.signal, ends]);
    return environment.fetch(String(to), { ...init, signal });
  };
}

/** For a payment: who has named no node, or one that does not answer, goes on without it. */
export function codeReader(rpcUrl: string | undefined): { readCode?: (address: Hex) => Promise<Hex | null> } {
  if (rpcUrl === undefined || rpcUrl === '') return {};
  const readCode = async (address: Hex): Promise<Hex | null> => {
    try {
      return await (await openChain(rpcUrl)).readCode(address);
    } catch (error) {
      if (error instanceof AgentError) return null;
      throw error;
    }
  };
  return { readCode };
}

/** Of the system and of HTTP libraries. */
const CODE = /^[A-Z][A-Z0-9_]{1,39}$/;

/**
 * What went wrong as a code: `ECONNREFUSED`, `timeout`, `HTTP 401`, `JSON-RPC error -32005`. Nothing else of an error is told: its texts hold
 * the whole address, or are what the endpoint says. Null where there is no code.
 */
function causeOf(error: unknown): OwnWords | null {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const code = 'code' in at ? at.code : null;
    const status = 'status' in at ? at.status : null;
    if (at.name === 'TimeoutError') return own`timeout`;
    if (at.name === 'RpcRequestError')
      return Number.isSafeInteger(code) ? own`JSON-RPC error ${Number(code)}` : own`JSON-RPC error`;
    if (typeof status === 'number') return own`HTTP ${status}`;
    if (typeof code === 'string' && CODE.test(code)) return formed('code', code);
    if (at instanceof SyntaxError) return own`not JSON`;
  }
  return null;
}
