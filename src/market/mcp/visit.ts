import type { Incoming } from '../../platform/http/message.ts';
import type { Refusal } from '../../platform/refusal.ts';
import type { Visitor } from '../connect/visitor.ts';

/** One message that came in, on its way through the protocol's own library to a tool. */
export interface Visit {
  incoming: Incoming;
  /** Who a hosted client acts for; null: the open entry, where Authorization may hold a key. */
  visitor: Visitor | null;
  /** Why no tool may look at what was sent: it holds a secret. */
  refusal: Refusal | null;
}
