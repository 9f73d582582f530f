import { loadPayment, memoryOf, type SavedPayment } from './proof-store.ts';
import type { Pursuit, Run, Terms } from './pursuit.ts';

/** Picks up a payment that was begun earlier, or starts without one. */
export async function beginRun<Done>(pursuit: Pursuit<Done>): Promise<Run<Done>> {
  const { options, storeKey } = pursuit;
  const store = options.proofStore ?? memoryOf(options.client);
  const saved = await loadPayment(store, storeKey);
  const showsSlip = options.recoverySlip !== undefined;
  return {
    ...pursuit,
    store,
    saved,
    terms: saved === null ? await pursuit.readTerms() : termsOf(saved),
    token: saved?.delivery_token ?? null,
    slip: options.recoverySlip ?? saved?.recovery_slip ?? null,
    showsSlip,
    submitted: false,
    collecting: showsSlip && saved === null && pursuit.listingId !== null,
    collectProof: null,
    knownToExist: showsSlip,
    askedAgain: false,
    failures: 0,
    startedMs: options.client.environment.now(),
  };
}

function termsOf(saved: SavedPayment): Terms {
  const { payee, amount_units, network, artifact_commitment } = saved;
  return {
    expected: { payee, amountUnits: BigInt(amount_units), network },
    artifactCommitment: artifact_commitment,
  };
}
