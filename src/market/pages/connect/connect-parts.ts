import type { Inside } from '../../../platform/http/server-options.ts';
import type { Interactions } from '../../connect/interaction.ts';
import type { Market, Merchant } from '../../context.ts';

/** What the pages of the hosted connector stand on. */
export interface ConnectParts {
  market: Market;
  interactions: Interactions;
  inside: Inside<Merchant>;
}
