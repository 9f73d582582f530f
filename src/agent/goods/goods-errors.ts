import type { ListingDetail } from '../../contract/listings.ts';
import { formed, type OwnWords, own } from '../../contract/own-words.ts';
import { MarketError, UnreadableAnswer } from '../../sdk/errors.ts';
import type { DeliveredGoods } from '../../sdk/goods/download.ts';
import { TermsRefused } from '../../sdk/payments/payment-errors.ts';
import { AgentError } from '../agent-error.ts';
import type { KeptGoods, SpendRecord } from '../spend-record.ts';

export function unfinishedError({ listingId }: { listingId: number }): AgentError {
  return new AgentError('unknown', {
    doNotPayAgain: true,
    reason: 'payment_under_way',
    title: own`The purchase of listing ${listingId} isn’t finished: its payment is signed, and the market doesn’t deliver yet`,
    nextStep: own`Do not pay again. Run openaisle wait ${listingId}: it finishes the purchase and signs nothing new.`,
  });
}

export function notBought({ listingId }: { listingId: number }): AgentError {
  return new AgentError('wrong_use', {
    reason: 'no_purchase',
    title: own`Neither this wallet nor this key bought listing ${listingId}, and it isn’t free. Nothing was paid`,
    nextStep: own`Run openaisle buy ${listingId} --max USDC to buy it.`,
  });
}

export function changedGoodsError({ path, receipt }: KeptGoods): AgentError {
  return new AgentError('unknown', {
    doNotPayAgain: true,
    reason: 'goods_mismatch',
    title: own`The market now delivers different goods than before${receipt === null ? own`` : own` (paid in ${formed('hash', receipt.tx_hash)})`}. They were not saved`,
    nextStep: own`Do not pay again. Keep the receipt, and flag the listing.`,
    file: path,
  });
}

export function wrongGoodsError(
  goods: Pick<KeptGoods, 'receipt'> & { path?: string },
  record: SpendRecord,
): AgentError {
  return new AgentError('unknown', {
    doNotPayAgain: true,
    reason: 'goods_mismatch',
    title: own`The delivered goods don’t match the listing${goods.receipt === null && record.state !== 'signed' ? own`` : own`, and they are paid for`}`,
    nextStep: own`Do not pay again. Keep ${goods.path === undefined ? own`the receipt` : own`the file and the receipt`}, and flag the listing.`,
    file: goods.path,
  });
}

/** Converts errors of a download after the purchase, which alone would read as if nothing had been bought. */
export function toMissingFile(error: unknown, { receipt }: DeliveredGoods): unknown {
  if (error instanceof AgentError)
    return error.trouble === 'unknown' ? new AgentError('unknown', { ...error.parts, doNotPayAgain: true }) : error;
  const areTermsRefused = error instanceof TermsRefused;
  if (!areTermsRefused && !(error instanceof MarketError) && !(error instanceof UnreadableAnswer)) return error;
  const paid = receipt === null ? own`` : own` (paid in ${formed('hash', receipt.tx_hash)})`;
  return new AgentError('unknown', {
    doNotPayAgain: true,
    reason: 'goods_not_arrived',
    title: own`The goods are yours${paid}, but the file didn’t arrive${areTermsRefused ? own`: ${error.detail}` : own``}`,
    market: error instanceof MarketError ? { detail: error.problem.detail } : undefined,
    nextStep: areTermsRefused
      ? own`Do not pay again. ${error.nextStep}`
      : own`Do not pay again. Run the same command again: it continues the download and pays nothing.`,
  });
}

/** Says that the market stopped sending the promised goods before all bytes came. The bytes so far prove nothing about the goods. */
export function otherGoodsMidway({ receipt }: DeliveredGoods): AgentError {
  const again = own`Run the same command again: it begins anew.`;
  return new AgentError('unknown', {
    reason: 'goods_not_arrived',
    title: own`The market began to send something else than the promised goods, so the download was stopped`,
    nextStep: receipt === null ? again : own`Do not pay again (paid in ${formed('hash', receipt.tx_hash)}). ${again}`,
    ...(receipt === null ? {} : { doNotPayAgain: true }),
  });
}

/** Says that the purchase continues. The error alone would read as if the purchase had ended, because it says that nothing was signed. */
export function uncheckedNotice({ detail }: TermsRefused): OwnWords {
  return own`The purchase continues, but openaisle couldn’t check whether this wallet already owns the goods. ${detail} for this check. If both addresses are the same market behind a tunnel or proxy, add --market-calls-itself URL to enable the check.`;
}

export function isNotBought(error: unknown): boolean {
  return error instanceof MarketError && error.reason === 'nothing_to_collect';
}

/** Whether the market can't be asked what this wallet owns. */
function isUnanswerable(error: unknown): boolean {
  if (error instanceof TermsRefused) return error.why === 'other_market';
  return isPaymentAsked(error);
}

export function isPaymentAsked(error: unknown): boolean {
  return error instanceof MarketError && error.reason === 'payment_required';
}

/**
 * Whether to pay after this error: the wallet doesn't own the goods, or its purchases can't be checked and there is no older version whose
 * buyers get the goods free. With an older version it remains unknown whether anything is due.
 */
export function mayBuyAfter(error: unknown, { supersedes }: ListingDetail): boolean {
  return isNotBought(error) || (isUnanswerable(error) && supersedes === null);
}
