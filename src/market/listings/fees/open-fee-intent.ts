import type { Endpoints } from '../../../contract/index.ts';
import { LISTING_FEE_UNITS } from '../../../contract/vocabulary.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market, MarketOperation, Merchant } from '../../context.ts';
import { takeIntentQuota } from '../../limits/quotas.ts';
import {
  existingIntentQuery,
  hasTimeLeft,
  type IntentFindings,
  type IntentTerms,
  isContract,
  mustNotBeTransferred,
  openIntent,
  presentIntentTerms,
  readFindings,
  readIntentTime,
} from '../../payments/paths/direct/intents.ts';
import { findSignedIntent, mustBeUnclaimed, undecidedRefusal } from '../../payments/paths/direct/name-transaction.ts';
import type { Intent } from '../../payments/paths/direct/store.ts';
import { findOpenUnproven, viewOfUnproven } from '../../payments/paths/direct/unproven-store.ts';
import type { Payments } from '../../payments/payments.ts';
import { checkOpenFees } from './fee-payment.ts';
import { countCredits } from './store.ts';

const NEXT_STEP =
  'Sign challenge with the wallet that pays (personal_sign), send at least minimum_amount_units of the asset from it to seller_wallet before expires_at, then POST /api/listing with fee_payment, or for a thing of the city POST /api/world/listing. Goods can be tried with dry_run first.';

/** POST /api/fee-intent. Like a purchase intent, but the treasury is the payee. Refused for a merchant who owes no fee. */
export function makeOpenFeeIntent(payments: Payments): MarketOperation<Endpoints['openFeeIntent']> {
  return async (market, call) => {
    const { caller: merchant } = call;
    await checkDue(market, merchant);
    await checkOpenFees(market.database, market, merchant.id);
    if (call.body.pay_anew !== true) await mustHaveNoOpenClaim(market, merchant);
    const terms = feeIntentTerms(market);
    const signed = await findSignedIntent(market.database, merchant, terms, call.body);
    const payer = signed === null ? (call.body.payer_wallet ?? null) : signed.intent.payer;
    const present = (intent: Intent, findings: IntentFindings) => ({
      fee_intent: {
        ...presentIntentTerms(market, intent, merchant, { ...findings, next: NEXT_STEP }),
        listing_id: null,
      },
      signature_checked: findings.check?.isGood ?? null,
    });
    if (signed !== null && hasTimeLeft(market, signed.intent)) {
      await mustBeUnclaimed(market.database, market, signed.intent);
      return { status: 200, body: present(signed.intent, await readFindings(payments.readHead, payer, signed)) };
    }
    await takeIntentQuota(market, { ...call, merchant }, existingIntentQuery(market, { merchant, terms, payer }));
    await mustNotBeTransferred(market, payments.readHead, terms, call.body);
    await payments.payees.mustReceive(terms.payee);
    const createdAt = await readIntentTime(market, payments.readHead);
    const findings = await readFindings(payments.readHead, payer, null);
    const { intent, isNew } = await market.database.transaction(async (tx) => {
      await tx.lock(`intents:${merchant.id}:fee`);
      return await openIntent(tx, market, { merchant, terms, payer, isContract: isContract(findings), createdAt });
    });
    return { status: isNew ? 201 : 200, body: present(intent, findings) };
  };
}

function feeIntentTerms({ config }: Market): IntentTerms {
  return { purpose: 'listing_fee', listingId: null, payee: config.treasury, minimumUnits: LISTING_FEE_UNITS };
}

/**
 * Refuses while an unsigned fee claim of this merchant awaits a decision. A fee intent names no listing, so the new fee may be for the same
 * listing as that claim.
 */
async function mustHaveNoOpenClaim(market: Market, merchant: Merchant): Promise<void> {
  const unproven = await findOpenUnproven(market.database, merchant.id, 'fees');
  if (unproven === null) return;
  const { reason, options } = await undecidedRefusal(market.database, market, viewOfUnproven(unproven));
  throw new Refusal(reason, { ...options, nextStep: WAIT_OR_PAY_ANEW });
}

const WAIT_OR_PAY_ANEW =
  'A fee that was sent without a signature waits for the maintainer: follow the payment named in payment, and do not pay again for that listing. For another listing send pay_anew: true.';

async function checkDue(market: Market, merchant: Merchant): Promise<void> {
  if (merchant.maintainer) throw new Refusal('fee_not_due', { detail: 'The maintainer lists without a fee.' });
  if ((await countCredits(market.database, merchant.id)) > 0n) {
    throw new Refusal('fee_not_due', { detail: 'A fee that was paid is unspent and pays for the next listing.' });
  }
}
