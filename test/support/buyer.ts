import { decodePaymentSignatureHeader } from '@x402/core/http';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import type { Environment } from '../../src/sdk/environment.ts';
import type { Wallet } from '../../src/sdk/payments/payment-proof.ts';
import type { SeenRequest } from './scripted-market.ts';

/** A clock that a sleeper moves, so that twenty minutes of waiting pass at once. */
export function createTestTime(startMs = 1_800_000_000_000): Pick<Environment, 'now' | 'sleep'> & { slept: number[] } {
  let nowMs = startMs;
  const slept: number[] = [];
  return {
    slept,
    now: () => nowMs,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      slept.push(ms / 1_000);
      nowMs += ms;
    },
  };
}

/** A wallet that counts what it signs. */
export function createTestWallet(): Wallet & { signed: number } {
  const account = privateKeyToAccount(generatePrivateKey());
  const wallet = {
    address: account.address,
    signed: 0,
    signTypedData: (typed: Parameters<Wallet['signTypedData']>[0]) => {
      wallet.signed += 1;
      return account.signTypedData(typed);
    },
  };
  return wallet;
}

/** The nonce in a request's proof; null when it carries none. */
export function nonceIn(request: SeenRequest): string | null {
  const header = request.headers['x-payment'] ?? request.headers['payment-signature'];
  if (typeof header !== 'string') return null;
  const { authorization } = decodePaymentSignatureHeader(header).payload as { authorization: { nonce: string } };
  return authorization.nonce;
}

/** The different nonces that a market was sent and could settle. */
export function noncesToSettle(seen: readonly SeenRequest[]): Set<string> {
  const settling = seen.filter((request) => !(request.body as { collect?: boolean } | undefined)?.collect);
  return new Set(settling.map(nonceIn).filter((nonce) => nonce !== null));
}
