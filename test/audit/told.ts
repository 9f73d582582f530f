export interface EventDetail {
  listing_id?: unknown;
  merchant_id?: unknown;
  payment_id?: unknown;
  offer_id?: unknown;
  paid_usdc?: unknown;
  price_usdc?: unknown;
  verified_via?: unknown;
  tx_hash?: unknown;
  seller_wallet?: unknown;
  artifact_commitment?: unknown;
  aisle?: unknown;
  supersedes?: unknown;
  fields?: unknown;
  action?: unknown;
  outcome?: unknown;
  from_block?: unknown;
  to_block?: unknown;
  kept_event_id?: unknown;
  next_event_id?: unknown;
}

export interface ToldEvent {
  kind: string;
  at?: unknown;
  actor: string;
  detail: EventDetail;
}

/** Compares events in the log with rows in the books. Each must have its counterpart. */
export interface Told {
  take(name: string, event: ToldEvent): void;
  salesOf(paymentId: string): number;
  /** Matches a row of the books with an event, which can match only once. */
  find(line: string): boolean;
  /** Returns events without a row in the books. */
  left(): string[];
}

/** Joins a fact into one text. Books and log both use it, so equal facts give equal texts. */
export function factOf(...parts: readonly unknown[]): string {
  return parts.map((part) => String(part ?? '-')).join(' ');
}

export function createTold(): Told {
  const names = new Map<string, string>();
  const twice: string[] = [];
  const sales = new Map<string, number>();
  return {
    take: (name, event) => {
      const fact = factIn(event);
      if (fact === null) return;
      if (event.kind === 'sale' && event.detail.payment_id !== undefined) {
        const payment = String(event.detail.payment_id);
        sales.set(payment, (sales.get(payment) ?? 0) + 1);
      }
      if (names.has(fact)) twice.push(`${name} tells again of what ${names.get(fact)} told: ${fact}`);
      else names.set(fact, name);
    },
    salesOf: (paymentId) => sales.get(paymentId) ?? 0,
    find: (line) => names.delete(line),
    left: () => [...twice, ...[...names].map(([fact, name]) => `${name} tells of what the books do not have: ${fact}`)],
  };
}

function factIn({ kind, actor, detail }: ToldEvent): string | null {
  const { listing_id, merchant_id, payment_id, tx_hash } = detail;
  switch (kind) {
    case 'sale':
      return factOf(
        'sale of listing',
        listing_id,
        'by merchant',
        merchant_id,
        'to',
        actor,
        'for',
        unitsOf(detail.paid_usdc),
        'via',
        detail.verified_via,
        payment_id,
        tx_hash,
      );
    case 'world_sale':
      return factOf(
        'sale of the thing of listing',
        listing_id,
        'by merchant',
        merchant_id,
        'for',
        unitsOf(detail.paid_usdc),
        tx_hash,
      );
    case 'listing':
    case 'maintainer_seed':
      return factOf(kind, listing_id, 'of merchant', merchant_id, 'for', unitsOf(detail.price_usdc));
    case 'world_canceled':
      return factOf('end of the thing of listing', listing_id);
    case 'review':
      return factOf('review of payment', payment_id, detail.outcome);
    case 'moderation':
      return detail.action === 'fee_review' ? factOf('review of payment', payment_id, detail.outcome) : null;
    case 'recovery': {
      const { from_block, to_block, kept_event_id, next_event_id } = detail;
      return factOf('recovery of blocks', from_block, to_block, 'events', kept_event_id, next_event_id);
    }
    default:
      return null;
  }
}

/** Largest amount in USDC. Larger numbers cannot hold six decimals exactly. */
const MAX_USDC = 9e9;

/** Converts USDC in JSON (a non-negative number with at most six decimals) to units. Returns `?` for anything else. */
export function unitsOf(usdc: unknown): string {
  if (typeof usdc !== 'number' || !(usdc >= 0 && usdc <= MAX_USDC)) return '?';
  const units = Math.round(usdc * 1_000_000);
  return units / 1_000_000 === usdc ? BigInt(units).toString() : '?';
}
