import type { SettleResponse, SupportedResponse, VerifyResponse } from '@x402/core/types';
import type { Network } from '../contract/vocabulary.ts';
import type { Context } from './context.ts';
import type { DeferredReason, Settlement } from './outcomes.ts';
import type { PaymentRequest, UnacceptableRequest, Version } from './read-request.ts';
import type { Verdict } from './verify-payment.ts';

/** Version 1 uses other network names, which do not fit the type of version 2. */
type SettleAnswer = Omit<SettleResponse, 'network'> & { network: string };

export interface Printed<Body> {
  status: number;
  body: Body;
  retryAfterSeconds?: number;
}

const DEFERRED: Readonly<Record<DeferredReason, string>> = {
  payer_resting: 'The last settlement of this payer failed on the chain. Ask again after Retry-After.',
  payer_busy: 'Too many settlements of this payer wait for their turn. Ask again after Retry-After.',
  gas_budget_spent: 'No gas is left for payers like this one. Ask again after Retry-After.',
};

export function printSupported({ network, account }: Pick<Context, 'network' | 'account'>) {
  const kinds = ([1, 2] as const).map((x402Version) => ({
    x402Version,
    scheme: 'exact',
    network: networkName(network, x402Version),
  }));
  return { kinds, extensions: [], signers: { 'eip155:*': [account.address] } } satisfies Supported;
}

type Supported = Omit<SupportedResponse, 'kinds'> & {
  kinds: { x402Version: number; scheme: string; network: string }[];
};

export function printVerdict({ payer }: PaymentRequest, verdict: Verdict): Printed<VerifyResponse> {
  if (verdict.kind === 'valid') return { status: 200, body: { isValid: true, payer } };
  if (verdict.kind === 'invalid')
    return { status: 200, body: { isValid: false, invalidReason: verdict.reason, payer } };
  if (verdict.kind === 'deferred') {
    const { reason, retryAfterSeconds } = verdict;
    const body = { isValid: false, invalidReason: reason, invalidMessage: DEFERRED[reason], payer };
    return { status: 503, body, retryAfterSeconds };
  }
  return {
    status: 503,
    body: {
      isValid: false,
      invalidReason: 'unexpected_verify_error',
      invalidMessage: 'The chain could not be read. This says nothing about the payment.',
      payer,
    },
  };
}

export function printSettlement(request: PaymentRequest, outcome: Settlement, network: Network): Printed<SettleAnswer> {
  const common = { network: networkName(network, request.version), payer: request.payer };
  if (outcome.kind === 'settled') {
    return { status: 200, body: { success: true, transaction: outcome.transaction, ...common } };
  }
  if (outcome.kind === 'pending') {
    const errorMessage =
      outcome.transaction === null
        ? 'Waiting for its turn to be broadcast. Ask again with the same payment.'
        : 'Broadcast, not mined yet. Ask again with the same payment.';
    return { status: 200, body: failureAnswer('settlement_pending', outcome.transaction, errorMessage) };
  }
  if (outcome.kind === 'refused') return { status: 200, body: failureAnswer(outcome.reason, outcome.transaction) };
  if (outcome.kind === 'deferred') {
    const { reason, retryAfterSeconds } = outcome;
    return { status: 503, body: failureAnswer(reason, null, DEFERRED[reason]), retryAfterSeconds };
  }
  const message = 'The chain could not be asked. Ask again with the same payment.';
  return { status: 503, body: failureAnswer('unexpected_settle_error', null, message) };

  function failureAnswer(errorReason: string, transaction: string | null, errorMessage?: string): SettleAnswer {
    const explained = errorMessage === undefined ? {} : { errorMessage };
    return { success: false, errorReason, ...explained, transaction: transaction ?? '', ...common };
  }
}

export function printRefusal(
  route: 'verify' | 'settle',
  { status, version, reason, message, payer }: UnacceptableRequest,
  network: Network,
): Printed<VerifyResponse | SettleAnswer> {
  const named = payer === undefined ? {} : { payer };
  if (route === 'verify') {
    return { status, body: { isValid: false, invalidReason: reason, invalidMessage: message, ...named } };
  }
  const failure = { success: false, errorReason: reason, errorMessage: message, transaction: '' };
  return { status, body: { ...failure, network: networkName(network, version), ...named } };
}

function networkName(network: Network, version: Version): string {
  return version === 1 ? network.name : network.caip2;
}
