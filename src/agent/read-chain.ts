import { createPublicClient, erc20Abi, type Hex, http, isAddressEqual, parseEventLogs } from 'viem';
import type { z } from 'zod';
import { formed, type OwnWords, ofOwner, ofSource, own } from '../contract/own-words.ts';
import type { receiptOut } from '../contract/payments.ts';
import { NETWORKS, type Network } from '../contract/vocabulary.ts';
import { type Environment, systemEnvironment } from '../sdk/environment.ts';
import { AgentError } from './agent-error.ts';

export type Receipt = z.output<typeof receiptOut>;

/** `final`: exactly that transfer is in a finalized block. Other states say what is wrong. */
export interface TransferFound {
  status: 'final' | 'not_final' | 'not_found' | 'differs';
  detail: OwnWords;
}

/** Reads the chain through one RPC endpoint, without trusting the market. */
export interface ChainReader {
  readonly network: Network;
  /** Units of USDC at the latest block. */
  readBalance(address: Hex): Promise<bigint>;
  findTransfer(receipt: Receipt): Promise<TransferFound>;
  /** Contract code at the latest block; `0x` if there is none. */
  readCode(address: Hex): Promise<Hex>;
}

const TIMEOUT_MS = 15_000;

/**
 * Connects to an RPC endpoint and asks it for its network. Errors name only the endpoint's host and a code, because the address often
 * contains an API key. Throws `wrong_use` for a bad address, `chain_unreadable` and `wrong_network`.
 */
export async function openChain(
  rpcUrl: string,
  environment: Pick<Environment, 'fetch' | 'deadline'> = systemEnvironment,
): Promise<ChainReader> {
  // Early releases of Node 20 lack URL.parse.
  const url = URL.canParse(rpcUrl) ? new URL(rpcUrl) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    const title = own`The RPC endpoint must be an http or https address`;
    throw new AgentError('wrong_use', { reason: 'wrong_use', title });
  }
  const client = createPublicClient({
    transport: http(rpcUrl, { fetchFn: fetchWithTimeout(environment), timeout: TIMEOUT_MS, retryCount: 2 }),
  });
  const askNode = async <T>(read: Promise<T>): Promise<T> => {
    try {
      return await read;
    } catch (error) {
      const nextStep = own`Check --rpc (or OPENAISLE_RPC), or use another endpoint.`;
      const cause = causeOf(error);
      const why = cause === null ? own`` : own` (${cause})`;
      const title = own`The RPC endpoint at ${ofOwner(url.host)} sent no usable answer${why}`;
      throw new AgentError('refused', { reason: 'chain_unreadable', title, nextStep });
    }
  };
  const chainId = BigInt(await askNode(client.getChainId()));
  const network = Object.values(NETWORKS).find((one) => one.chainId === chainId);
  if (network === undefined) {
    const title = own`The RPC endpoint at ${ofOwner(url.host)} serves chain ${chainId}, which this version doesn’t support`;
    throw new AgentError('refused', { reason: 'wrong_network', title });
  }

  const findTransfer = async (receipt: Receipt): Promise<TransferFound> => {
    const hash = receipt.tx_hash as Hex;
    const [mined, final] = await Promise.all([
      // viem throws for an unknown hash. The call for the block shows whether the node answers at all.
      client.getTransactionReceipt({ hash }).catch(() => null),
      askNode(client.getBlock({ blockTag: 'finalized' })),
    ]);
    const chain = ofSource(network.displayName);
    if (mined === null) return { status: 'not_found', detail: own`no transaction ${formed('hash', hash)} on ${chain}` };
    const block = await askNode(client.getBlock({ blockNumber: mined.blockNumber }));
    if (block.hash !== mined.blockHash || mined.blockNumber > final.number)
      return { status: 'not_final', detail: own`block ${mined.blockNumber}; final up to ${final.number}` };
    if (block.hash !== receipt.block_hash || Number(mined.blockNumber) !== receipt.block_number)
      return { status: 'differs', detail: own`it is in block ${mined.blockNumber}, not in the receipt’s block` };
    const usdc = mined.logs.filter(({ address }) => isAddressEqual(address, network.usdc));
    const hasTransfer = parseEventLogs({ abi: erc20Abi, eventName: 'Transfer', logs: usdc }).some(
      ({ args }) =>
        isAddressEqual(args.from, receipt.payer as Hex) &&
        isAddressEqual(args.to, receipt.payee as Hex) &&
        // Compare as text, because a receipt may contain a number of any length.
        args.value.toString() === receipt.amount_units,
    );
    if (mined.status !== 'success' || !hasTransfer)
      return { status: 'differs', detail: own`the transaction has no such USDC transfer` };
    return { status: 'final', detail: own`block ${mined.blockNumber}; final up to ${final.number}` };
  };

  return {
    network,
    readBalance: (address) =>
      askNode(
        client.readContract({ address: network.usdc, abi: erc20Abi, functionName: 'balanceOf', args: [address] }),
      ),
    findTransfer,
    readCode: async (address) => (await askNode(client.getCode({ address }))) ?? '0x',
  };
}

/** Adds a timeout that covers the body too; viem's timeout stops at the headers. */
function fetchWithTimeout(environment: Pick<Environment, 'fetch' | 'deadline'>) {
  return (to: unknown, init: RequestInit = {}): Promise<Response> => {
    const ends = environment.deadline(TIMEOUT_MS);
    const signal = init.signal == null ? ends : AbortSignal.any([init.signal, ends]);
    return environment.fetch(String(to), { ...init, signal });
  };
}

/** Makes the `readCode` option of payments. It is missing without an RPC endpoint, and returns null if the endpoint doesn't answer. */
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

const ERROR_CODE = /^[A-Z][A-Z0-9_]{1,39}$/;

/**
 * Describes the cause as a code: `ECONNREFUSED`, `timeout`, `HTTP 401`, `JSON-RPC error -32005`. Returns null if there is none. Never
 * uses messages, because they contain the whole address or the endpoint's own text.
 */
function causeOf(error: unknown): OwnWords | null {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const code = 'code' in at ? at.code : null;
    const status = 'status' in at ? at.status : null;
    if (at.name === 'TimeoutError') return own`timeout`;
    if (at.name === 'RpcRequestError')
      return Number.isSafeInteger(code) ? own`JSON-RPC error ${Number(code)}` : own`JSON-RPC error`;
    if (typeof status === 'number') return own`HTTP ${status}`;
    if (typeof code === 'string' && ERROR_CODE.test(code)) return formed('code', code);
    if (at instanceof SyntaxError) return own`not JSON`;
  }
  return null;
}
