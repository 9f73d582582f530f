import type { Network } from '../contract/vocabulary.ts';
import type { Rpc } from '../platform/chain/rpc.ts';
import { shapes } from '../platform/chain/shapes.ts';
import type { Clock } from '../platform/clock.ts';
import type { Hex } from '../platform/hex.ts';
import type { ChainHead } from './head.ts';
import { ChainTrouble, isRevert, mayLackGasMoney, readEther, TransferRefused } from './outcomes.ts';

export interface Fees {
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  /** Approximate price per unit of gas in the next block. */
  price: bigint;
}

export interface Quote extends Fees {
  gas: bigint;
  estimatedGas: bigint;
}

/** A transfer takes about 86,000. The operator pays for whatever more a contract wallet does, up to this cap. */
const GAS_CAP = 500_000n;
/** Storing a balance for the first time costs more, and this may become necessary between the estimate and the block. */
const GAS_MARGIN = 40_000n;
/** Multiplier, so that a rising fee does not get a transaction stuck at once. Only the block's own fee is paid. */
const BASE_FEE_MARGIN = 4n;
/** One block of the real network; the follower reads the fee of each new block. */
const BASE_FEE_CACHED_MS = 2_000;
/** The tip changes far more slowly than the base fee. */
const TIP_CACHED_MS = 10_000;

export interface QuoteGas {
  /** Simulates the transfer and estimates gas. Throws `TransferRefused` if it would revert in the next block. */
  rehearse(data: Hex): Promise<Quote>;
  /** Simulates the transfer at the price of the real transaction, without a gas estimate. */
  call(data: Hex): Promise<Hex>;
  fees(): Promise<Fees>;
}

interface QuoteGasContext {
  rpc: Rpc;
  head: ChainHead;
  address: Hex;
  network: Network;
  clock: Clock;
}

/** Simulates in the pending block at the real gas price. Without a price, a contract wallet could detect that this is only a simulation. */
export function createQuoteGas({ rpc, head, address, network, clock }: QuoteGasContext): QuoteGas {
  const readTip = createTip(rpc, clock);
  const fees = async (): Promise<Fees> => {
    const [{ baseFeePerGas: base }, maxPriorityFeePerGas] = await Promise.all([
      head.within(BASE_FEE_CACHED_MS),
      readTip(),
    ]);
    return {
      maxFeePerGas: base * BASE_FEE_MARGIN + maxPriorityFeePerGas,
      maxPriorityFeePerGas,
      price: base + maxPriorityFeePerGas,
    };
  };
  const transactionOf = (data: Hex, { maxFeePerGas, maxPriorityFeePerGas }: Fees) => ({
    from: address,
    to: network.usdc,
    data,
    gas: hexOf(GAS_CAP),
    maxFeePerGas: hexOf(maxFeePerGas),
    maxPriorityFeePerGas: hexOf(maxPriorityFeePerGas),
  });
  const callPending = async (method: 'eth_call' | 'eth_estimateGas', data: Hex, at: Fees): Promise<unknown> => {
    try {
      return await rpc.call(method, [transactionOf(data, at), 'pending']);
    } catch (error) {
      if (!isRevert(error)) throw new ChainTrouble('the chain gave no price for gas', { cause: error });
      if (mayLackGasMoney(error) && (await readEther(rpc, address)) < GAS_CAP * at.maxFeePerGas) {
        throw new ChainTrouble('the account holds too little for gas');
      }
      throw new TransferRefused(error.message);
    }
  };
  return {
    fees,
    rehearse: async (data) => {
      const at = await feesOrTrouble(fees);
      const estimatedGas = shapes.quantity.parse(await callPending('eth_estimateGas', data, at));
      const gas = estimatedGas + GAS_MARGIN;
      return { ...at, estimatedGas, gas: gas < GAS_CAP ? gas : GAS_CAP };
    },
    call: async (data) => (await callPending('eth_call', data, await feesOrTrouble(fees))) as Hex,
  };
}

async function feesOrTrouble(fees: () => Promise<Fees>): Promise<Fees> {
  return fees().catch((cause: unknown) => {
    throw new ChainTrouble('the chain gave no price for gas', { cause });
  });
}

/** Shares one answer until it is too old. Does not cache a failure. */
function createTip(rpc: Rpc, clock: Clock): () => Promise<bigint> {
  let cached: { readAt: number; value: Promise<bigint> } | null = null;
  return () => {
    if (cached !== null && cached.readAt + TIP_CACHED_MS > clock.now()) return cached.value;
    const reading = {
      readAt: clock.now(),
      value: rpc.call('eth_maxPriorityFeePerGas', []).then(shapes.quantity.parse),
    };
    cached = reading;
    reading.value.catch(() => {
      if (cached === reading) cached = null;
    });
    return reading.value;
  };
}

function hexOf(value: bigint): Hex {
  return `0x${value.toString(16)}`;
}
