import type { TokenScope } from '../../contract/token-scopes.ts';
import type { Merchant } from '../context.ts';

/** For whom a hosted client acts, as its access token says. */
export interface Visitor {
  merchant: Merchant;
  /** hosted_grants.id */
  grantId: string;
  scopes: ReadonlySet<TokenScope>;
  /** Of the client's metadata document; null: it registered itself. */
  clientHost: string | null;
  /** This grant, or a configured host of its client, has completed a read of `me` (W11). */
  proven: boolean;
}
