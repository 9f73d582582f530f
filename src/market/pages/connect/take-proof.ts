import { z } from 'zod';
import { readBearer } from '../../../platform/http/identify-caller.ts';
import type { Incoming, Outgoing } from '../../../platform/http/incoming.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { isPairingCode, isRecoveryCode } from '../../../platform/secret-format.ts';
import { proveAttempt, type Shown } from '../../connect/proofs/prove-attempt.ts';
import { answerConnectJson } from './answer-connect.ts';
import type { ConnectParts } from './connect-parts.ts';
import { mustBeOwnPage } from './must-be-own-page.ts';
import { readStep } from './read-step.ts';

const LONGEST_CODE = 200;
const proofIn = z.strictObject({ pairing_code: z.string().max(LONGEST_CODE).optional() });

/** POST /oauth/interaction/:uid/prove: the key in Authorization, or a pairing code in its own place. */
export async function takeProof({ market, interactions, inside }: ConnectParts, incoming: Incoming): Promise<Outgoing> {
  const { config } = market;
  mustBeOwnPage(incoming, config.baseUrl);
  const { pairing_code: code } = readStep(inside.guard, incoming, proofIn, ['pairing_code']);
  const shown = shownOf(bearerOf(incoming, config.keyPrefix), code);
  const uid = incoming.params['uid'] ?? '';
  if ((await interactions.find(incoming, uid)) === null) throw new Refusal('connection_closed');
  const { handle } = await proveAttempt(market, { uid, shown, clientNetwork: incoming.clientNetwork });
  return answerConnectJson({ status: 'proven', handle });
}

/** As sent: whose it is, is judged where tries are counted. */
function bearerOf({ rawHeaders }: Incoming, prefix: string): string | null {
  return readBearer(rawHeaders, { isCode: (sent) => isRecoveryCode(sent, prefix) || isPairingCode(sent, prefix) });
}

function shownOf(bearer: string | null, code: string | undefined): Shown {
  if (bearer !== null && code !== undefined) {
    throw new Refusal('invalid_fields', { detail: 'Send the key or a pairing code, not both.' });
  }
  if (bearer !== null) return { key: bearer };
  if (code !== undefined) return { pairingCode: code };
  throw new Refusal('key_required');
}
