import { RpcFailure } from '../../../../platform/chain/rpc.ts';
import type { Market } from '../../../context.ts';
import { isOpen, type Payment } from '../../payment.ts';
import type { Proof } from '../../terms.ts';
import { isSignedBy } from './check-proof.ts';

/**
 * Whether this proof is the very authorization of that payment, signed by its payer. Only then is it handed to the facilitator
 * once more; whoever shows anything else under the same nonce learns where the payment stands and moves nothing.
 */
export async function mayDrive(
  market: Pick<Market, 'rpc' | 'clock' | 'config'>,
  payment: Payment,
  proof: Proof,
): Promise<boolean> {
  if (payment.path !== 'x402' || payment.chainId !== market.config.network.chainId) return false;
  const { authorization } = proof;
  const same =
    authorization.from === payment.payer &&
    authorization.nonce === payment.nonce &&
    authorization.to === payment.payee &&
    authorization.value === payment.valueUnits &&
    authorization.validAfter === payment.validAfter &&
    authorization.validBefore === payment.validBefore;
  if (!same || !isOpen(payment)) return false;
  try {
    return await isSignedBy(market, proof);
  } catch (error) {
    if (error instanceof RpcFailure) return false;
    throw error;
  }
}
