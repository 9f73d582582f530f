import { MarketError } from '../market-error.ts';
import { makeDeliveryToken } from './delivery-token.ts';
import { type PaymentProof, signProof } from './payment-proof.ts';
import { readPaymentRequired } from './payment-required.ts';
import type { Run } from './pursuit.ts';
import { signCollecting } from './sign-to-collect.ts';
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
    delivery_token: makeDeliveryToken(asked, run.options.client.environment),
  };
  // Those of an earlier payment are not this one's.
  Object.assign(run, { token: run.saved.delivery_token, slip: null, showsSlip: false });
  // Saved before it is sent: a crash in between must find the same proof again, and the token that collects.
  await run.store.save(run.storeKey, run.saved);
  run.failures = 0;
  reportProgress(run, 'signed');
}

/** Signs only to show who asks. It is sent with `collect` and nowhere else, and kept nowhere. */
export async function signToCollect(run: Run, asked: unknown): Promise<void> {
  const { client, wallet, x402Version } = run.options;
  if (run.listingId === null) throw new TypeError('there is nothing to collect for a fee');
  const { expected } = run.terms;
  run.collectProof = await signCollecting({ client, wallet, listingId: run.listingId, expected, asked, x402Version });
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
