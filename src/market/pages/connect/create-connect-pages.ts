import type { Incoming, Outgoing } from '../../../platform/http/incoming.ts';
import type { Inside, Mount } from '../../../platform/http/mount.ts';
import type { Interactions } from '../../connect/interaction.ts';
import type { Market, Merchant } from '../../context.ts';
import { answerConnectPage } from './answer-connect-page.ts';
import type { ConnectParts } from './connect-parts.ts';
import { openInteraction } from './open-interaction.ts';
import { answerGrantsPage } from './render-grants.ts';
import { takeDecision } from './take-decision.ts';
import { takeProof } from './take-proof.ts';

const INTERACTION = '/oauth/interaction/:uid';

/** What people see of the hosted connector: how to use it, what acts for them, and the page on which they allow it. */
export function createConnectPages(market: Market, interactions: Interactions, inside: Inside<Merchant>): Mount[] {
  const parts: ConnectParts = { market, interactions, inside };
  const own = (
    method: 'GET' | 'POST',
    path: string,
    answer: (parts: ConnectParts, incoming: Incoming) => Promise<Outgoing>,
  ): Mount => ({ method, path, ownOrigin: true, answer: (incoming) => answer(parts, incoming) });
  return [
    own('GET', '/mcp/connect', answerConnectPage),
    own('GET', '/mcp/connect/grants', answerGrantsPage),
    own('GET', INTERACTION, openInteraction),
    own('POST', `${INTERACTION}/prove`, takeProof),
    own('POST', `${INTERACTION}/decide`, takeDecision),
  ];
}
