import { ArtifactMismatch } from '../sdk/payments/artifact-commitment.ts';
import { PaymentMayBeLost, TermsRefused } from '../sdk/payments/payment-errors.ts';
import { PaymentUndecided } from '../sdk/payments/payment-run.ts';
import { CliError, toCliError } from './cli-error.ts';

/** How a command ends that was to pay. `again` is what goes on with it. */
export function paymentTrouble(error: unknown, again: string): CliError {
  if (error instanceof PaymentUndecided) {
    const title = 'It is not known yet whether the payment was made; the proof is kept';
    const detail = error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
    return new CliError('unknown', {
      reason: 'payment_undecided',
      title,
      detail,
      nextStep: `Do not pay again: ${again}`,
    });
  }
  if (error instanceof PaymentMayBeLost) {
    const nextStep = `Look what transaction ${error.txHash ?? 'it names'} paid for. If it was something else: ${again} --pay-anew`;
    const title = 'The market lost some of its books, and the chain shows a transfer that may have paid for this';
    return new CliError('refused', { reason: 'payment_may_be_lost', title, nextStep });
  }
  if (error instanceof TermsRefused) {
    const nextStep = 'Look at the listing and the market: what it asks for is not what it shows.';
    return new CliError('refused', { reason: error.why, title: error.message, nextStep });
  }
  if (error instanceof ArtifactMismatch) {
    const nextStep = 'Do not pay again; flag the listing.';
    return new CliError('refused', { reason: 'goods_mismatch', title: error.message, nextStep });
  }
  const told = toCliError(error);
  if (told.parts.reason !== 'authorization_lapsed') return told;
  return new CliError('refused', {
    ...told.parts,
    nextStep: `Nothing was paid. To pay after all: ${again} --pay-again`,
  });
}
