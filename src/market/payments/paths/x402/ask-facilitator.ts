import { z } from 'zod';
import { checksummed } from '../../../../contract/chain-values.ts';
import { FACILITATOR_ANSWER_LIMIT_BYTES, FACILITATOR_DEADLINE_SECONDS } from '../../../../contract/vocabulary.ts';
import type { Hex } from '../../../../platform/hex.ts';
import { askJson, OutboundFailure } from '../../../../platform/http/ask-json.ts';
import type { Market } from '../../../context.ts';
import { type Proof, requirementOf, type Terms } from '../../terms.ts';

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

const stateShape = z.object({
  settlements_covered: z.int().nonnegative().nullable(),
  may_settle: z.boolean().optional(),
  why: z.enum(['payer_resting', 'gas_budget_spent']).nullish(),
  retry_after_seconds: z.int().positive().max(86_400).nullish(),
});
/** It is asked in front of a purchase, and answers from memory. */
const STATE_DEADLINE_MS = 1_500;

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

/** What our own facilitator says of itself, and of one payer where one is named. */
export interface FacilitatorState {
  /** How many settlements its account can pay gas for. */
  covered: number | null;
  /** Why it would not begin a settlement for that payer now. */
  refusal: { why: 'payer_resting' | 'gas_budget_spent'; seconds: number } | null;
}

/** no_route: a facilitator of another make. unknown: no readable answer in a short time. */
export async function askState(
  market: Needs,
  payment: { payer: Hex; payee: Hex } | null,
): Promise<FacilitatorState | 'no_route' | 'unknown'> {
  const query = payment === null ? '' : `?payer=${payment.payer}&payee=${payment.payee}`;
  const answer = await ask(market, `state${query}`, null, STATE_DEADLINE_MS);
  if ('why' in answer) return answer.why === 'not_json' ? 'no_route' : 'unknown';
  if (answer.status >= 400 && answer.status < 500) return 'no_route';
  const read = stateShape.safeParse(answer.json);
  if (answer.status !== 200 || !read.success) return 'unknown';
  const { settlements_covered: covered, may_settle: may, why, retry_after_seconds: seconds } = read.data;
  const isRefused = payment !== null && may === false && typeof why === 'string';
  return { covered, refusal: isRefused ? { why, seconds: seconds ?? 1 } : null };
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

async function ask(market: Needs, path: string, body: unknown, deadlineMs = FACILITATOR_DEADLINE_SECONDS * 1000) {
  const { facilitatorUrl, facilitatorAuth } = market.config;
  try {
    const answer = await askJson(`${facilitatorUrl}/${path}`, {
      body,
      deadlineMs,
      maxBytes: FACILITATOR_ANSWER_LIMIT_BYTES,
      headers: facilitatorAuth === null ? {} : { authorization: facilitatorAuth },
    });
    if (answer.status !== 401) return answer;
    // It has not looked at the payment: what it says is about this market.
    market.log.error('facilitator_unauthorized', { path: nameOf(path) });
    return { why: 'unauthorized' } as const;
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error;
    market.log.warn('facilitator_unreadable', { path: nameOf(path), why: error.why });
    return { why: error.why };
  }
}

function nameOf(path: string): string {
  return path.split('?', 1)[0] ?? '';
}
