import { z } from 'zod';
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

/** Also the last rehearsal: throws `TransferRefused` when the transfer would revert now. */
export async function quoteGas(context: Context, data: Hex): Promise<Gas> {
  const { rpc, address, network } = context;
  const call = { from: address, to: network.usdc, data, gas: `0x${GAS_CAP.toString(16)}` };
  try {
    const [estimate, tip, head] = await Promise.all([
      rpc.call('eth_estimateGas', [call]),
      rpc.call('eth_maxPriorityFeePerGas', []),
      rpc.call('eth_getBlockByNumber', ['latest', false]),
    ]);
    const gas = quantity.parse(estimate) + GAS_MARGIN;
    const maxPriorityFeePerGas = quantity.parse(tip);
    const maxFeePerGas = block.parse(head).baseFeePerGas * BASE_FEE_MARGIN + maxPriorityFeePerGas;
    return { gas: gas < GAS_CAP ? gas : GAS_CAP, maxFeePerGas, maxPriorityFeePerGas };
  } catch (error) {
    if (isRevert(error)) throw new TransferRefused(error.message);
    throw new ChainTrouble('the chain gave no price for gas', { cause: error });
  }
}
