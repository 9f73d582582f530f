import { z } from 'zod';
import { checksummed } from '../../../contract/chain-values.ts';
import { FACILITATOR_ANSWER_LIMIT_BYTES, FACILITATOR_DEADLINE_SECONDS } from '../../../contract/vocabulary.ts';
import type { Hex } from '../../../platform/hex.ts';
import { askJson, OutboundFailure } from '../../../platform/http/ask-json.ts';
import type { Market } from '../../context.ts';
import { type Proof, requirementOf, type Terms } from '../terms.ts';

type Needs = Pick<Market, 'config' | 'log'>;

export type VerifyAnswer =
  | { kind: 'valid' }
  | { kind: 'invalid'; reason: string }
  /** No well-formed answer within the deadline: says nothing. */
  | { kind: 'unknown'; why: string };

export type SettleAnswer =
  | { kind: 'submitted' }
  | { kind: 'rejected'; reason: string }
  | { kind: 'unknown'; why: string };

const reasonText = z.string().max(300).optional();
const verifyShape = z.object({ isValid: z.boolean(), invalidReason: reasonText });
const settleShape = z.object({ success: z.boolean(), errorReason: reasonText, transaction: z.string().max(200) });
const supportedShape = z.object({
  signers: z.record(z.string().max(100), z.array(z.string().max(100)).max(100)).optional(),
});

/** Asks before settlement. Says only what the facilitator says: nothing is delivered on the strength of it. */
export async function askVerify(market: Needs, proof: Proof, terms: Terms): Promise<VerifyAnswer> {
  const answer = await ask(market, 'verify', bodyOf(market, proof, terms));
  if ('why' in answer) return { kind: 'unknown', why: answer.why };
  const read = verifyShape.safeParse(answer.json);
  if (!read.success) return { kind: 'unknown', why: 'malformed_answer' };
  // A refusal may come with a 4xx; a yes counts only as a plain 200.
  if (read.data.isValid)
    return answer.status === 200 ? { kind: 'valid' } : { kind: 'unknown', why: 'status_contradicts' };
  return answer.status >= 500
    ? { kind: 'unknown', why: 'facilitator_error' }
    : { kind: 'invalid', reason: read.data.invalidReason ?? 'no reason given' };
}

export async function askSettle(market: Needs, proof: Proof, terms: Terms): Promise<SettleAnswer> {
  const answer = await ask(market, 'settle', bodyOf(market, proof, terms));
  if ('why' in answer) return { kind: 'unknown', why: answer.why };
  const read = settleShape.safeParse(answer.json);
  if (!read.success) return { kind: 'unknown', why: 'malformed_answer' };
  if (read.data.success) return { kind: 'submitted' };
  const reason = read.data.errorReason ?? 'no reason given';
  if (reason === 'settlement_pending' || answer.status >= 500) return { kind: 'unknown', why: reason };
  return { kind: 'rejected', reason };
}

/** Addresses from which the facilitator says that it settles on this network; null when it does not answer. */
export async function askSigners(market: Needs): Promise<Hex[] | null> {
  const answer = await ask(market, 'supported', null);
  if ('why' in answer || answer.status !== 200) return null;
  const read = supportedShape.safeParse(answer.json);
  if (!read.success) return null;
  const signers = read.data.signers ?? {};
  return [...(signers['eip155:*'] ?? []), ...(signers[market.config.network.caip2] ?? [])]
    .map((address) => address.toLowerCase())
    .filter((address): address is Hex => /^0x[0-9a-f]{40}$/.test(address));
}

/** Always version 2: one core settles both; the signed object is the same in either. */
function bodyOf(market: Needs, proof: Proof, terms: Terms): unknown {
  const accepted = requirementOf(terms, market.config.network, checksummed);
  const { authorization, signature } = proof;
  return {
    x402Version: 2,
    paymentPayload: {
      x402Version: 2,
      resource: { url: terms.resource, description: terms.description, mimeType: 'application/json' },
      accepted,
      payload: {
        signature,
        authorization: {
          from: checksummed(authorization.from),
          to: checksummed(authorization.to),
          value: authorization.value.toString(),
          validAfter: authorization.validAfter.toString(),
          validBefore: authorization.validBefore.toString(),
          nonce: authorization.nonce,
        },
      },
    },
    paymentRequirements: accepted,
  };
}

async function ask(market: Needs, path: string, body: unknown) {
  const { facilitatorUrl, facilitatorAuth } = market.config;
  try {
    return await askJson(`${facilitatorUrl}/${path}`, {
      body,
      deadlineMs: FACILITATOR_DEADLINE_SECONDS * 1000,
      maxBytes: FACILITATOR_ANSWER_LIMIT_BYTES,
      headers: facilitatorAuth === null ? {} : { authorization: facilitatorAuth },
    });
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error;
    market.log.warn('facilitator_unreadable', { path, why: error.why });
    return { why: error.why };
  }
}
