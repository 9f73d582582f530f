import type { Network } from '../contract/vocabulary.ts';
import type { Rpc } from '../platform/chain/rpc.ts';
import { shapes } from '../platform/chain/shapes.ts';
import type { Clock } from '../platform/clock.ts';
import type { Hex } from '../platform/hex.ts';
import type { ChainHead } from './head.ts';
import { ChainTrouble, isRevert, mayBePoor, readEther, TransferRefused } from './outcomes.ts';

export interface Fees {
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  /** What a unit of gas costs in the next block, more or less. */
  price: bigint;
}

export interface Quote extends Fees {
  gas: bigint;
  /** What the rehearsal used. */
  estimatedGas: bigint;
}

/** A transfer takes about 86,000. What a contract wallet does beyond this, it does at the operator's expense. */
const GAS_CAP = 500_000n;
/** Between the estimate and the block a balance may come to be written for the first time. */
const GAS_MARGIN = 40_000n;
/** A rising fee must not make a transaction stuck at once; only the block's own fee is paid. */
const BASE_FEE_MARGIN = 4n;
/** A block of the real network. What follows the head brings the fee of each new one. */
const BASE_FEE_KEPT_MS = 2_000;
/** What it is worth to be mined at once changes far more slowly than the base fee. */
const TIP_KEPT_MS = 10_000;

export interface QuoteGas {
  /** Also the last rehearsal: throws `TransferRefused` when the transfer would revert in the next block. */
  rehearse(data: Hex): Promise<Quote>;
  /** The same as a call that changes nothing, at the price at which the transaction would go out. */
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

/** A wallet that sees no gas price knows that it is only rehearsed, so it is shown the real one, at the block to come. */
export function createQuoteGas({ rpc, head, address, network, clock }: QuoteGasContext): QuoteGas {
  const readTip = createTip(rpc, clock);
  const fees = async (): Promise<Fees> => {
    const [{ baseFeePerGas: base }, maxPriorityFeePerGas] = await Promise.all([
      head.within(BASE_FEE_KEPT_MS),
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
  const rehearsed = async (method: 'eth_call' | 'eth_estimateGas', data: Hex, at: Fees): Promise<unknown> => {
    try {
      return await rpc.call(method, [transactionOf(data, at), 'pending']);
    } catch (error) {
      if (!isRevert(error)) throw new ChainTrouble('the chain gave no price for gas', { cause: error });
      if (mayBePoor(error) && (await readEther(rpc, address)) < GAS_CAP * at.maxFeePerGas) {
        throw new ChainTrouble('the account holds too little for gas');
      }
      throw new TransferRefused(error.message);
    }
  };
  return {
    fees,
    rehearse: async (data) => {
      const at = await feesOrTrouble(fees);
      const estimatedGas = shapes.quantity.parse(await rehearsed('eth_estimateGas', data, at));
      const gas = estimatedGas + GAS_MARGIN;
      return { ...at, estimatedGas, gas: gas < GAS_CAP ? gas : GAS_CAP };
    },
    call: async (data) => (await rehearsed('eth_call', data, await feesOrTrouble(fees))) as Hex,
  };
}

async function feesOrTrouble(fees: () => Promise<Fees>): Promise<Fees> {
  return fees().catch((cause: unknown) => {
    throw new ChainTrouble('the chain gave no price for gas', { cause });
  });
}

/** Shared by all who ask within its time; a failure is not kept. */
function createTip(rpc: Rpc, clock: Clock): () => Promise<bigint> {
  let kept: { readAt: number; value: Promise<bigint> } | null = null;
  return () => {
    if (kept !== null && kept.readAt + TIP_KEPT_MS > clock.now()) return kept.value;
    const reading = {
      readAt: clock.now(),
      value: rpc.call('eth_maxPriorityFeePerGas', []).then(shapes.quantity.parse),
    };
    kept = reading;
    reading.value.catch(() => {
      if (kept === reading) kept = null;
    });
    return reading.value;
  };
}

function hexOf(value: bigint): Hex {
  return `0x${value.toString(16)}`;
}
