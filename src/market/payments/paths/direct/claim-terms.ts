import type { DirectPayment } from '../../payment.ts';
import type { ClaimTerms } from './decide-claim.ts';

export function claimTermsOf(payment: DirectPayment, removedAt: Date | null): ClaimTerms {
  const seconds = (date: Date): bigint => BigInt(Math.floor(date.getTime() / 1000));
  return {
    chainId: payment.chainId,
    asset: payment.asset,
    payer: payment.payer,
    payee: payment.payee,
    minimumUnits: payment.valueUnits,
    windowFrom: seconds(payment.windowFrom),
    windowTo: seconds(payment.windowTo),
    surplus: payment.surplus,
    removedAt: removedAt?.getTime() ?? null,
  };
}
