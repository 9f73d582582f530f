/** One transfer of USDC in the canonical chain, and the authorization that made it. A transaction may hold several. */
export interface Transfer {
  hash: string;
  from: string;
  to: string;
  units: bigint;
  block: number;
  time: number;
  authorization: string | null;
}

/** What the chain shows at one moment: all that the reference knows of it. Times in seconds. */
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
  /** Milliseconds. */
  removedAt: number | null;
}

/** A signed authorization; `authorization` is its name, for its sender. */
export interface Proof {
  payer: string;
  payee: string;
  units: bigint;
  authorization: string;
  validBefore: number;
  /** Of the listing for which it was signed. */
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

/** A transaction that a claim names. */
export interface Named {
  hash: string;
  refused: string | null;
  seen: number | null;
}

/** What is paid for (`subject`: a listing, or the body of one to be), by whom, and what became of it. */
export interface Payment {
  subject: string;
  isFee: boolean;
  merchant: string | null;
  payer: string;
  payee: string;
  units: bigint;
  /** One of these two. */
  proof: Proof | null;
  intent: Intent | null;
  /** Whether the proof may have been handed on for settlement. */
  submitted: boolean;
  /** The listing was edited before it was submitted: it never is. */
  stopped: boolean;
  /** The facilitator did not send it: only the payer's own signature collects. */
  payerOnly: boolean;
  /** The goods were this buyer's before, or it came in addition to a claim. */
  surplus: boolean;
  /** A transfer in addition to the one that decided the claim. */
  isSurplusRecord: boolean;
  /** It was in review, and the payee delivered. */
  isReleased: boolean;
  status: 'open' | 'completed' | 'unpaid' | 'review' | 'rejected';
  reason: string;
  named: Named[];
  /** The block in which it was seen last. */
  seen: number | null;
  transfer: Transfer | null;
}

/** What a payment begins with where nothing else is said. */
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

/** What has to be said of a payment that begins. */
export type Begun = Pick<Payment, 'subject' | 'isFee' | 'merchant' | 'payer' | 'payee' | 'units'> & Partial<Payment>;

/** A request to buy. */
export interface Buying {
  /** The merchant whose key is sent; null: none. */
  who: string | null;
  listing: Listing;
  proof: Proof | null;
  /** Whether the proof says for which listing it is. */
  isNamed: boolean;
  /** Whose delivery token is sent. */
  token: Payment | null;
  collect: boolean;
}

/** What of it decides what is answered about one payment. */
export type Asking = Pick<Buying, 'who' | 'proof' | 'token' | 'collect'>;

/** A claim that a transaction paid for an intent. */
export interface Claiming {
  who: string;
  subject: string;
  intent: Intent;
  hash: string;
  signer: string;
}

/** A request to list a body. */
export interface Listed {
  who: string;
  body: string;
  fee: { payee: string; units: bigint };
  proof: Proof | null;
  claim: Omit<Claiming, 'who' | 'subject'> | null;
}

export const isUndecided = ({ status }: Payment): boolean => status === 'open' || status === 'review';
/** It is paid for, one way or the other. */
export const isDecided = (one: Payment | undefined): boolean => one?.status === 'completed' || one?.status === 'review';
/** A buyer with one of these must not pay for the same again. */
export const isHolding = (one: Payment): boolean => !one.surplus && (isUndecided(one) || isSale(one));
export const isOpen = ({ status }: Payment): boolean => status === 'open';
/** Not a fee, whose subject is the listing that it made. */
export const isPurchaseOf = (one: Payment, { name }: Listing): boolean => !one.isFee && one.subject === name;
export const isSale = (one: Payment): boolean => one.status === 'completed' && !one.isFee && !one.surplus;

/** Judged by nobody until the payee has decided on the transfer that stands for the claim. */
const WAITING = 'payment_undecided';

/** Whether another claim of the wallet has the transaction, its payee seeing that; `alsoOpen`: or it is undecided for another one. */
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

/** Keeps a transaction that the wallet of a claim in review names meanwhile, unless it counts for another one. The answer is the review. */
export function waitFor(claim: Payment, claiming: Claiming, payments: readonly Payment[]): string {
  const { hash, signer } = claiming;
  const isElsewhere = claim.payer === signer && isHeld(payments, claiming, claim, true);
  if (isElsewhere) return 'payment_undecided';
  const before = claim.named.find((one) => one.hash === hash);
  if (claim.payer === signer && before === undefined) claim.named.push({ hash, refused: WAITING, seen: null });
  else if (claim.payer === signer && before?.refused) before.refused = WAITING;
  return claim.reason;
}

/** The payee has decided: if it has delivered, what waited is looked at like what else was named. */
export function endReview(claim: Payment, outcome: 'deliver' | 'declined' | 'refunded'): void {
  claim.status = outcome === 'deliver' ? 'completed' : 'rejected';
  claim.isReleased = outcome === 'deliver';
  for (const one of claim.named) if (claim.isReleased && one.refused === WAITING) one.refused = null;
}

/** Another wallet has signed: what was refused as not its own may be its own, unless that counts for another claim of it. */
export function takeOver(payments: readonly Payment[], claim: Payment, signer: string): Payment {
  for (const one of claim.named) {
    const isElsewhere = isHeld(payments, { hash: one.hash, signer }, claim);
    if (one.refused !== 'transaction_used') one.refused = isElsewhere ? 'transaction_used' : null;
  }
  return Object.assign(claim, { payer: signer });
}
