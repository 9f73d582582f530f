import { MarketError, UnreadableAnswer } from '../../sdk/errors.ts';
import { PaymentMayBeLost, TermsRefused } from '../../sdk/payments/payment-errors.ts';
import { PaymentUndecided } from '../../sdk/payments/payment-run.ts';
import { MessageMismatch } from '../messages.ts';
import type { Trouble } from '../show/view.ts';
import { InsufficientBalance, type WalletFailure, WalletTrouble } from '../wallet-provider.ts';

export interface PurchaseStatus {
  /** Whether a signed payment is stored in this browser. */
  hasProof: boolean;
  /** Whether a transfer was seen or the goods were paid for. */
  isPaid: boolean;
  /** Whether the market said that the attempt ended unpaid. */
  hasEnded: boolean;
  /** Formatted time until which the stored proof can be executed. Null if it has expired or there is none. */
  until: string | null;
}

/** Explains what happened, whether money moved, and what to do. Uses the market's own words if it gave some. */
export function explain(error: unknown, status: PurchaseStatus): Trouble {
  const money = isSpentElsewhere(error) ? SPENT_ELSEWHERE : describeMoney(status);
  const say = (title: string, what: string, todo: string): Trouble => ({ title, what, money, todo, reason: null });
  if (error instanceof WalletTrouble) return { ...walletTrouble(error.why, status), money, reason: null };
  if (error instanceof InsufficientBalance) {
    const todo = 'Put USDC on this wallet, or choose another one, then try again.';
    return say('Too little USDC', `${messageOf(error)}.`, todo);
  }
  if (lacksFunds(error)) return { ...marketTrouble(error), money: sayShortfall(status), reason: error.reason };
  if (error instanceof MarketError) return { ...marketTrouble(error), money, reason: error.reason };
  if (error instanceof PaymentMayBeLost) return { ...lostTrouble(error), money, reason: 'payment_may_be_lost' };
  if (error instanceof TermsRefused && error.why === 'own_goods') return { ...OWN_GOODS, money, reason: 'own_goods' };
  if (error instanceof TermsRefused && error.why === 'clock_wrong') {
    return { ...WRONG_CLOCK, what: `${messageOf(error)}.`, money, reason: null };
  }
  if (error instanceof TermsRefused && error.why === 'other_market') {
    const todo = 'Open these goods at the address that the market calls itself, if that is the market you mean.';
    return say('The market has another address', `${messageOf(error)}.`, todo);
  }
  if (error instanceof MessageMismatch || error instanceof TermsRefused) {
    const todo = 'Load this page again and read the listing once more. If it says this again, do not buy here.';
    return say('Not what this page shows', `The market asked for something else: ${messageOf(error)}.`, todo);
  }
  if (error instanceof UnreadableAnswer || error instanceof PaymentUndecided) {
    const todo = status.hasProof
      ? 'Look again: the same signature is sent, and nothing new is signed.'
      : 'See whether you are connected to the network, then try again.';
    return say('No answer from the market', 'The market did not answer, or not in a way that can be read.', todo);
  }
  const todo = status.hasProof ? 'Load this page again. What you signed is kept.' : 'Load this page again.';
  return say('This cannot go on', `Something happened that this page does not know: ${messageOf(error)}.`, todo);
}

/** Whether the wallet lacked funds. The market stored nothing, so the same signature works once the wallet is funded. */
export function lacksFunds(error: unknown): error is MarketError {
  return error instanceof MarketError && error.reason === 'insufficient_funds';
}

function sayShortfall({ until }: PurchaseStatus): string {
  const moved = 'No money moved: the wallet holds less than the price.';
  return until === null
    ? moved
    : `${moved} What you signed is good until ${until}: sign nothing else for these goods until then.`;
}

const SPENT_ELSEWHERE =
  'Not paid here. Look into your wallet for where this signature was used before you sign another.';

function isSpentElsewhere(error: unknown): boolean {
  return (
    error instanceof MarketError && error.reason === 'authorization_used_elsewhere' && error.doNotPayAgain !== true
  );
}

/** Says whether money moved. A signed payment counts as not executed only if the market says that the attempt ended. */
export function describeMoney({ hasProof, isPaid, hasEnded, until }: PurchaseStatus): string {
  if (isPaid) return 'You have paid. Do not pay again.';
  if (!hasProof) return 'No money moved: nothing that was signed was sent.';
  if (!hasEnded) return 'A payment may exist. Do not pay again.';
  return until === null
    ? 'No money moved, and none can any more.'
    : `No money moved. What you signed runs out at ${until}.`;
}

function walletTrouble(
  why: WalletFailure,
  { hasProof, hasEnded }: PurchaseStatus,
): Pick<Trouble, 'title' | 'what' | 'todo'> {
  const words = WALLET_MESSAGES[why];
  return hasProof && !hasEnded ? { ...words, todo: `${words.todo} What you signed before is kept.` } : words;
}

function marketTrouble({ problem }: MarketError): Pick<Trouble, 'title' | 'what' | 'todo'> {
  const { title, detail, next_step, reason } = problem;
  const saysMore = stripEndPunctuation(detail) !== stripEndPunctuation(title);
  return { title, what: saysMore ? detail : '', todo: NEXT_STEPS[reason] ?? next_step };
}

function lostTrouble({ txHash, block }: PaymentMayBeLost): Pick<Trouble, 'title' | 'what' | 'todo'> {
  const where = txHash === null ? 'A transaction' : `Transaction ${txHash} in block ${block}`;
  return {
    title: 'You may have paid for this already',
    what: `The market has lost some of its books. ${where} moved exactly this price from your wallet to the seller, and is in none. What you signed now was not used.`,
    todo: 'Look in your wallet what that transaction was for. If it was for these goods, ask the seller for them: the seller has the money. Pay only if it was for something else.',
  };
}

/** Replaces the market's next steps that are worded for programs. */
const NEXT_STEPS: Readonly<Record<string, string>> = {
  insufficient_funds: 'Put USDC on this wallet, then try again: the same signature is sent.',
  payment_invalid: 'Put right what is said above. You can pay again once the signature has run out.',
  signature_invalid:
    'The wallet signed with another key than that of this account. Try again, or choose another wallet.',
  payer_contract_refused: 'Choose another wallet, or pay by a transfer.',
  payer_not_deployed: 'Choose another wallet, or use this one once before you try again.',
  payment_rejected:
    'Put right what is said above and look again. If nothing changes, the attempt ends unpaid by itself.',
  authorization_lapsed: 'If you still want the goods, pay again.',
  listing_lost: 'If you paid for these goods, the seller has the money: ask the seller for them. Do not pay again.',
  listing_unavailable: 'Look on the shelves for what is for sale.',
  nothing_to_collect: 'Choose the wallet that paid, or buy the goods.',
  needs_review: 'The seller decides whether you get the goods or the money back. Look again later.',
};

const OWN_GOODS: Words = {
  title: 'These are your own goods',
  what: 'They are sold by the wallet that you chose.',
  todo: 'Choose a wallet of another person.',
};

const WRONG_CLOCK = {
  title: 'Two clocks do not agree',
  todo: 'Set the clock of this device, then try again. If it is right, tell the operator of the market.',
} as const;

function messageOf(error: unknown): string {
  return stripEndPunctuation(error instanceof Error ? error.message : 'no words for it');
}

function stripEndPunctuation(words: string): string {
  return words.replace(/[.;\s]+$/, '');
}

type Words = Pick<Trouble, 'title' | 'what' | 'todo'>;

/** Messages for each reason a wallet can stop a purchase. */
const WALLET_MESSAGES: Readonly<Record<WalletFailure, Words>> = {
  refused: {
    title: 'You said no in the wallet',
    what: 'The wallet was asked and you refused.',
    todo: 'If you want the goods after all, try again.',
  },
  busy: {
    title: 'The wallet has another question open',
    what: 'It answers one question at a time, and one is waiting for you.',
    todo: 'Open the wallet, answer or close what it asks, then try again.',
  },
  not_allowed: {
    title: 'The wallet does not allow this',
    what: 'It has not given this page the account that is needed.',
    todo: 'Try again and allow the account when the wallet asks.',
  },
  disconnected: {
    title: 'The wallet is not connected',
    what: 'It says that it has no connection to its network.',
    todo: 'Open the wallet, see that it is connected, then try again.',
  },
  wrong_account: {
    title: 'The wallet shows another account',
    what: 'These goods belong to a payment of another account than the one that the wallet gives.',
    todo: 'Choose the account that paid in the wallet, then try again.',
  },
  wrong_chain: {
    title: 'The wallet is on another network',
    what: 'It was asked to change to the network of this market and did not.',
    todo: 'Change the network in the wallet yourself, or add it there, then try again.',
  },
  account_changed: {
    title: 'The wallet changed its account',
    what: 'The message was made for the account that was chosen before, so it was put away.',
    todo: 'Try again with the account that shall pay.',
  },
  stopped: {
    title: 'You stopped',
    what: 'The wallet was not asked to sign.',
    todo: 'If you want the goods after all, try again.',
  },
  too_late: {
    title: 'The signature came too late',
    what: 'What you signed was good for two minutes, and these were nearly over. It was put away and sent nowhere.',
    todo: 'Try again; a new message is made.',
  },
  unusable: {
    title: 'The wallet could not do it',
    what: 'It answered with a fault, or with something that is no signature.',
    todo: 'See what the wallet says, then try again, or use another one.',
  },
};
