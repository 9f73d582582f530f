import type { Endpoints } from '../../../contract/index.ts';
import { LISTING_FEE_UNITS } from '../../../contract/vocabulary.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market, MarketOperation, Merchant } from '../../context.ts';
import { takeIntentQuota } from '../../limits/quotas.ts';
import {
  type IntentTerms,
  mustNotBeTransferred,
  openIntent,
  presentIntentTerms,
  readIntentTime,
  shownAgain,
} from '../../payments/paths/direct/intents.ts';
import type { Payments } from '../../payments/payments.ts';
import { checkOpenFees } from './fee-payment.ts';
import { countCredits } from './store.ts';

const NEXT =
  'Sign challenge with the wallet that pays (personal_sign), send at least minimum_amount_units of the asset from it to seller_wallet before expires_at, then POST /api/listing with fee_payment, or for a thing of the city POST /api/world/listing. Goods can be tried with dry_run first.';

/** POST /api/fee-intent (W6, W8): as for a purchase, with the treasury as payee. A merchant who owes no fee cannot open one. */
export function makeOpenFeeIntent(payments: Payments): MarketOperation<Endpoints['openFeeIntent']> {
  return async (market, call) => {
    const { caller: merchant } = call;
    await checkDue(market, merchant);
    await checkOpenFees(market.database, market, merchant.id);
    const terms = feeIntentTerms(market);
    const payer = call.body.payer_wallet ?? null;
    await takeIntentQuota(market, { ...call, merchant }, shownAgain(market, { merchant, terms, payer }));
    await mustNotBeTransferred(market, payments.readHead, terms, call.body);
    await payments.payees.mustReceive(terms.payee);
    const createdAt = await readIntentTime(market, payments.readHead);
    const { intent, isNew } = await market.database.transaction(async (tx) => {
      await tx.lock(`intents:${merchant.id}:fee`);
      return await openIntent(tx, market, { merchant, terms, payer, createdAt });
    });
    const shown = { ...presentIntentTerms(market, intent, merchant, NEXT), listing_id: null };
    return { status: isNew ? 201 : 200, body: { fee_intent: shown } };
  };
}

function feeIntentTerms({ config }: Market): IntentTerms {
  return { purpose: 'listing_fee', listingId: null, payee: config.treasury, minimumUnits: LISTING_FEE_UNITS };
}

async function checkDue(market: Market, merchant: Merchant): Promise<void> {
  if (merchant.maintainer) throw new Refusal('fee_not_due', { detail: 'The maintainer lists without a fee.' });
  if ((await countCredits(market.database, merchant.id)) > 0n) {
    throw new Refusal('fee_not_due', { detail: 'A fee that was paid is unspent and pays for the next listing.' });
  }
}
