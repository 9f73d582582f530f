import type { Market } from '../../context.ts';
import { countOpenPayments, countReviews, type OpenPayments } from './store.ts';

/** What is told of payments: by the process that has the duty, or they would be told as often as there are processes. */
export interface PaymentFacts {
  open: readonly OpenPayments[];
  reviews: number;
  /** The last pass over all open payments that came to its end; null: none yet. Milliseconds. */
  pass: { tookMs: number; endedAt: number } | null;
}

export interface PaymentFactsKeeper {
  /** Asks the database. */
  count(): Promise<void>;
  /** Runs a pass and notes how long it took. */
  timed(pass: () => Promise<void>): () => Promise<void>;
  /** Null until something has been counted. */
  facts(): PaymentFacts | null;
}

export function createPaymentFacts({ database, clock }: Pick<Market, 'database' | 'clock'>): PaymentFactsKeeper {
  let counted: Omit<PaymentFacts, 'pass'> | null = null;
  let last: PaymentFacts['pass'] = null;
  return {
    count: async () => {
      counted = { open: await countOpenPayments(database), reviews: await countReviews(database) };
    },
    timed: (pass) => async () => {
      const startedAt = clock.now();
      await pass();
      const endedAt = clock.now();
      last = { tookMs: endedAt - startedAt, endedAt };
    },
    facts: () => counted && { ...counted, pass: last },
  };
}
