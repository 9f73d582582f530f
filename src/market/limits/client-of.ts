import type { Client } from '../../platform/budget.ts';
import type { Merchant } from '../context.ts';

/** Who has shown a key is counted by itself, and not with the network. */
export function clientOf({ caller, clientNetwork }: { caller: unknown; clientNetwork: string }): Client {
  const merchant = caller as Merchant | null;
  return merchant === null ? { network: clientNetwork } : { account: `merchant ${merchant.id}` };
}
