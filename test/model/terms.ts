/** A transfer of USDC in the canonical chain, and the authorization that made it. One transaction may hold several transfers. */
export interface Transfer {
  hash: string;
  from: string;
  to: string;
  units: bigint;
  block: number;
  time: number;
  authorization: string | null;
}

/** The visible chain at one moment, which is all that the reference knows of it. Times are in seconds. */
export interface View {
  latest: { number: number; time: number };
  finalized: { number: number; time: number };
  transfers: readonly Transfer[];
}

export interface Listing {
  name: string;
  payee: string;
  units: bigint;
  state: 'live' | 'withdrawn' | 'removed';
  /** Unix time in milliseconds. Null if not removed. */
  removedAt: number | null;
}

/** A signed authorization. `authorization` is its name: payer and nonce. */
export interface Proof {
  payer: string;
  payee: string;
  units: bigint;
  authorization: string;
  validBefore: number;
  /** Listing for which the proof was signed. */
  resource: string;
}

export interface Intent {
  who: string;
  subject: string;
  isFee: boolean;
  payer: string | null;
  payee: string;
  units: bigint;
  from: number;
  to: number;
}

/** A transaction that a claim contains. */
export interface Named {
  hash: string;
  refused: string | null;
  seen: number | null;
}

/** A payment: its subject (a listing, or the body of a future one), its payer, and its status. */
export interface Payment {
  subject: string;
  isFee: boolean;
  merchant: string | null;
  payer: string;
  payee: string;
  units: bigint;
  /** Proof that pays. Null if there is an intent instead. */
  proof: Proof | null;
  intent: Intent | null;
  /** True if the proof may have been submitted. */
  submitted: boolean;
  /** True if the listing was edited before the proof was submitted, so that it never will be. */
  stopped: boolean;
  /** True if the facilitator did not send the transaction, so only the payer's own signature collects. */
  payerOnly: boolean;
  /** True if the buyer already had the goods, or the transfer came on top of a claim. */
  surplus: boolean;
  /** True for a transfer on top of the one that decided the claim. */
  isSurplusRecord: boolean;
  /** True if the payment was in review and the payee delivered. */
  isReleased: boolean;
  status: 'open' | 'completed' | 'unpaid' | 'review' | 'rejected';
  reason: string;
  named: Named[];
  /** Block in which the transfer was last seen. */
  seen: number | null;
  transfer: Transfer | null;
}

export const BLANK = {
  proof: null,
  intent: null,
  stopped: false,
  payerOnly: false,
  surplus: false,
  isSurplusRecord: false,
  isReleased: false,
  reason: '',
  seen: null,
  transfer: null,
} as const;

/** Required fields of a new payment. */
export type Begun = Pick<Payment, 'subject' | 'isFee' | 'merchant' | 'payer' | 'payee' | 'units'> & Partial<Payment>;

export interface Buying {
  /** Merchant whose key is sent. Null for none. */
  who: string | null;
  listing: Listing;
  proof: Proof | null;
  isNamed: boolean;
  /** Payment whose delivery token is sent. */
  token: Payment | null;
  collect: boolean;
}

/** The fields of a request that decide the answer about one payment. */
export type Asking = Pick<Buying, 'who' | 'proof' | 'token' | 'collect'>;

export interface Claiming {
  who: string;
  subject: string;
  intent: Intent;
  hash: string;
  signer: string;
}

export interface Listed {
  who: string;
  body: string;
  fee: { payee: string; units: bigint };
  proof: Proof | null;
  claim: Omit<Claiming, 'who' | 'subject'> | null;
}

export const isUndecided = ({ status }: Payment): boolean => status === 'open' || status === 'review';
export const isDecided = (one: Payment | undefined): boolean => one?.status === 'completed' || one?.status === 'review';
/** Whether the payment forbids its buyer to pay for the same goods again. */
export const isHolding = (one: Payment): boolean => !one.surplus && (isUndecided(one) || isSale(one));
export const isOpen = ({ status }: Payment): boolean => status === 'open';
/** Whether the payment bought this listing. Excludes fees, whose subject is the listing that they paid for. */
export const isPurchaseOf = (one: Payment, { name }: Listing): boolean => !one.isFee && one.subject === name;
export const isSale = (one: Payment): boolean => one.status === 'completed' && !one.isFee && !one.surplus;

/** Refusal until the payee has decided about the claim's own transfer. */
const WAITING = 'payment_undecided';

/** Whether the transaction belongs to another claim of the wallet that is in review or was delivered. `alsoOpen` adds undecided claims. */
export function isHeld(
  payments: readonly Payment[],
  { hash, signer }: Pick<Claiming, 'hash' | 'signer'>,
  except: Payment | null,
  alsoOpen = false,
): boolean {
  return payments.some(({ payer, status, isReleased, named, ...one }) => {
    const refused = payer === signer ? named.find((its) => its.hash === hash)?.refused : undefined;
    if (refused === undefined || one.intent === null || except?.named === named) return false;
    if (refused === WAITING) return status === 'review' || status === 'completed';
    return refused === null && (alsoOpen || (status === 'completed' && isReleased));
  });
}

/**
 * Keeps a transaction that the same wallet claims while its earlier claim is in review, unless the transaction belongs to another claim.
 * Returns the answer.
 */
export function keepForReview(claim: Payment, claiming: Claiming, payments: readonly Payment[]): string {
  const { hash, signer } = claiming;
  const isElsewhere = claim.payer === signer && isHeld(payments, claiming, claim, true);
  if (isElsewhere) return 'payment_undecided';
  const before = claim.named.find((one) => one.hash === hash);
  if (claim.payer === signer && before === undefined) claim.named.push({ hash, refused: WAITING, seen: null });
  else if (claim.payer === signer && before?.refused) before.refused = WAITING;
  return claim.reason;
}

/** Ends a review. After a delivery, the transactions that waited for it are judged like all others. */
export function endReview(claim: Payment, outcome: 'deliver' | 'declined' | 'refunded'): void {
  claim.status = outcome === 'deliver' ? 'completed' : 'rejected';
  claim.isReleased = outcome === 'deliver';
  for (const one of claim.named) if (claim.isReleased && one.refused === WAITING) one.refused = null;
}

/**
 * Changes the wallet that signs for the claim. Transactions refused as foreign may now belong to the claim, unless they belong to another
 * claim of the new wallet.
 */
export function changeSigner(payments: readonly Payment[], claim: Payment, signer: string): Payment {
  for (const one of claim.named) {
    const isElsewhere = isHeld(payments, { hash: one.hash, signer }, claim);
    if (one.refused !== 'transaction_used') one.refused = isElsewhere ? 'transaction_used' : null;
  }
  return Object.assign(claim, { payer: signer });
}
