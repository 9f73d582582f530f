import { z } from 'zod';
import type { Incoming, Outgoing } from '../../../platform/http/incoming.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Interaction } from '../../connect/interaction.ts';
import { allowAttempt, cancelAttempt, reopenAttempt } from '../../connect/proofs/decide-attempt.ts';
import { answerConnectJson } from './answer-connect.ts';
import type { ConnectParts } from './connect-parts.ts';
import { mustBeOwnPage } from './must-be-own-page.ts';
import { readStep } from './read-step.ts';

const decisionIn = z.strictObject({ decision: z.enum(['allow', 'cancel']) });

/**
 * POST /oauth/interaction/:uid/decide. The address to go on at is handed to the page's script and not redirected to: browsers hold the
 * redirects of a form against `form-action`, which would have to name every client's host.
 */
export async function takeDecision(parts: ConnectParts, incoming: Incoming): Promise<Outgoing> {
  const { market, interactions, inside } = parts;
  mustBeOwnPage(incoming, market.config.baseUrl);
  const { decision } = readStep(inside.guard, incoming, decisionIn, []);
  const uid = incoming.params['uid'] ?? '';
  const interaction = await interactions.find(incoming, uid);
  if (interaction === null) throw new Refusal('connection_closed');
  if (decision === 'cancel') {
    await cancelAttempt(market, uid);
    const { location } = await interactions.cancel(incoming, interaction);
    return answerConnectJson({ status: 'canceled', location });
  }
  const { location } = await allow(parts, incoming, interaction);
  return answerConnectJson({ status: 'allowed', location });
}

async function allow(
  { market, interactions }: ConnectParts,
  incoming: Incoming,
  interaction: Interaction,
): Promise<{ location: string }> {
  const proof = await allowAttempt(market, interaction.uid);
  try {
    return await interactions.allow(incoming, interaction, proof);
  } catch (error) {
    // The key was replaced in the same moment: nothing was granted, and the new one may be shown.
    if (error instanceof Refusal && error.reason === 'proof_missing') await reopenAttempt(market, interaction.uid);
    throw error;
  }
}
