import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import type { ListingTerms } from '../listings/store.ts';
import { withoutLook } from '../payments/lost/must-not-be-paid.ts';
import { checkProof, type ProofCheck } from '../payments/paths/x402/check-proof.ts';
import type { Payments } from '../payments/payments.ts';
import { findHolding } from '../payments/store.ts';
import { type BuyRequest, purchaseTerms } from './buy-request.ts';
import { checkCollecting, isWithoutValue } from './collecting.ts';

/** A proof that is not in the ledger may be fresh: then it shows who controls the wallet. Null where there is none to check. */
export async function checkFresh(
  market: Market,
  payments: Payments,
  request: BuyRequest,
  listing: ListingTerms,
): Promise<ProofCheck | null> {
  const { proof } = request;
  if (proof === null) return null;
  if (!isWithoutValue(proof) && listing.priceUnits === 0n) return null;
  const check = isWithoutValue(proof)
    ? await checkCollecting(market, payments, request, listing, proof)
    : await checkProof(market, proof, purchaseTerms(market, listing), payments.readHead);
  if (!('refusal' in check) || check.refusal.reason !== 'payment_check_unavailable') return check;
  // Whether it is the payer's own cannot be told now. Where that payer has a payment, no answer may call paying again safe.
  const held = await findHolding(market.database, listing.id, { payer: proof.authorization.from });
  return { refusal: held === null ? withoutLook(market, check.refusal) : uncheckedWhilePaying(check.refusal) };
}

function uncheckedWhilePaying(refusal: Refusal): Refusal {
  return new Refusal(refusal.reason, {
    ...refusal.options,
    doNotPayAgain: true,
    nextStep: 'A payment of that wallet for this listing is known. Send the same request again. Do not pay again.',
  });
}
