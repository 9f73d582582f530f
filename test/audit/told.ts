/** What the log tells of, and what the books have: each must have the other. */
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

export interface Told {
  take(name: string, event: ToldEvent): void;
  /** How many sales of that payment were told of. */
  salesOf(paymentId: string): number;
  /** Holds a line of the books against what was told; each is told of once. */
  find(line: string): boolean;
  /** Events whose line no book had. */
  left(): string[];
}

/** The fact as one text. Written by the books from their columns and by the log from its details: they meet if they agree. */
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

/** Beyond it a number has no six decimals any more. */
const MOST_USDC = 9e9;

/** USDC as the wire has it, a number from 0 on with at most six decimals, in units; `?` for anything else. */
export function unitsOf(usdc: unknown): string {
  if (typeof usdc !== 'number' || !(usdc >= 0 && usdc <= MOST_USDC)) return '?';
  const units = Math.round(usdc * 1_000_000);
  return units / 1_000_000 === usdc ? BigInt(units).toString() : '?';
}
