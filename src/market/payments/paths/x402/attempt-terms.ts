import type { X402Payment } from '../../payment.ts';
import type { AttemptTerms } from './decide.ts';

export function attemptTermsOf(payment: X402Payment, removedAt: Date | null): AttemptTerms {
  return {
    chainId: payment.chainId,
    asset: payment.asset,
    payer: payment.payer,
    payee: payment.payee,
    valueUnits: payment.valueUnits,
    nonce: payment.nonce,
    validBefore: payment.validBefore,
    openedBlock: payment.openedBlock,
    mayBeSubmitted: payment.status !== 'verifying',
    removedAt: removedAt?.getTime() ?? null,
    isStopped: payment.stoppedAt !== null,
  };
}
