import { z } from 'zod';
import type { Rpc } from '../platform/chain/rpc.ts';
import type { Hex } from '../platform/hex.ts';
import { ChainTrouble, isRevert, TransferRefused } from './chain-trouble.ts';
import type { Context } from './context.ts';

export interface Gas {
  gas: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/** A transfer takes about 86,000. What a contract wallet does beyond this, it does at the expense of whoever runs this server. */
const GAS_CAP = 500_000n;
/** Between the estimate and the block a balance may come to be written for the first time. */
const GAS_MARGIN = 40_000n;
/** A broadcast transaction is never replaced by a dearer one, so it must bear a rising fee; only the block's own fee is paid. */
const BASE_FEE_MARGIN = 4n;

const quantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform((text) => BigInt(text));
const block = z.object({ baseFeePerGas: quantity });

const FEES_KEPT_MS = 1_000;

/** Also the last rehearsal: throws `TransferRefused` when the transfer would revert now. */
export type QuoteGas = (data: Hex) => Promise<Gas>;

export function createQuoteGas({ rpc, address, network, clock }: Context): QuoteGas {
  let fees: { readAt: number; value: Promise<Omit<Gas, 'gas'>> } | null = null;
  const readFees = (): Promise<Omit<Gas, 'gas'>> => {
    // The margin bears far more than a second can change.
    if (fees !== null && fees.readAt + FEES_KEPT_MS > clock.now()) return fees.value;
    const reading = { readAt: clock.now(), value: askFees(rpc) };
    fees = reading;
    reading.value.catch(() => {
      if (fees === reading) fees = null;
    });
    return reading.value;
  };
  return async (data) => {
    const call = { from: address, to: network.usdc, data, gas: `0x${GAS_CAP.toString(16)}` };
    try {
      const [estimate, price] = await Promise.all([rpc.call('eth_estimateGas', [call]), readFees()]);
      const gas = quantity.parse(estimate) + GAS_MARGIN;
      return { gas: gas < GAS_CAP ? gas : GAS_CAP, ...price };
    } catch (error) {
      if (isRevert(error)) throw new TransferRefused(error.message);
      throw new ChainTrouble('the chain gave no price for gas', { cause: error });
    }
  };
}

async function askFees(rpc: Rpc): Promise<Omit<Gas, 'gas'>> {
  const [tip, head] = await Promise.all([
    rpc.call('eth_maxPriorityFeePerGas', []),
    rpc.call('eth_getBlockByNumber', ['latest', false]),
  ]);
  const maxPriorityFeePerGas = quantity.parse(tip);
  return {
    maxFeePerGas: block.parse(head).baseFeePerGas * BASE_FEE_MARGIN + maxPriorityFeePerGas,
    maxPriorityFeePerGas,
  };
}
