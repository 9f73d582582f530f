import { MarketError } from '../market-error.ts';
import { type PaymentProof, signProof } from './payment-proof.ts';
import { readPaymentRequired } from './payment-required.ts';
import type { Run } from './pursuit.ts';
import { reportProgress } from './take-turn.ts';
import { TermsRefused } from './terms-refused.ts';

/** Signs the payment that a 402 asks for, and saves it. */
export async function signPayment(run: Run, asked: unknown): Promise<void> {
  const { expected, artifactCommitment } = run.terms;
  run.saved = {
    version: 1,
    purpose: run.purpose,
    payee: expected.payee,
    amount_units: expected.amountUnits.toString(),
    network: expected.network,
    artifact_commitment: artifactCommitment,
    proof: await signAsked(run, asked),
    delivery_token: null,
  };
  // Saved before it is sent: a crash in between must find the same proof again.
  await run.store.save(run.storeKey, run.saved);
  run.failures = 0;
  reportProgress(run, 'signed');
}

/** Signs only to show who asks. It is sent with `collect` and nowhere else, and kept nowhere. */
export async function signToCollect(run: Run, asked: unknown): Promise<void> {
  run.collectProof = await signAsked(run, asked);
  run.failures = 0;
  reportProgress(run, 'collecting');
}

async function signAsked(run: Run, asked: unknown): Promise<PaymentProof> {
  const { client, wallet, x402Version } = run.options;
  if (!(asked instanceof MarketError)) throw asked;
  if (run.terms.expected.amountUnits === 0n) throw new TermsRefused('wrong_amount', 'this costs nothing');
  const required = readPaymentRequired({ header: asked.header('payment-required'), body: asked.body() }, x402Version);
  return signProof(wallet, required, run.terms.expected, client.environment);
}
