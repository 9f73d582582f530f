import type { Clock } from '../platform/clock.ts';
import type { PaymentRequest } from './read-request.ts';

export interface Signed {
  isValid: boolean;
  /** Whether the payer is a contract, and when that was read. */
  hasCode: boolean;
  readAt: number;
}

/** What /verify found out about a payment a moment ago, so that /settle does not ask again. */
export interface Verified {
  note(request: PaymentRequest, signed: Signed): void;
  /** Once: null where nothing was noted, or too long ago. */
  take(request: PaymentRequest): Signed | null;
}

/** An account may come by code meanwhile, as it may while its settlement is in flight. */
export const CODE_KEPT_MS = 5_000;
const MOST = 4_000;

/** Only wallets without code: whether a contract still agrees is asked each time. */
export function createVerified(clock: Clock): Verified {
  const noted = new Map<string, Signed>();
  return {
    note: (request, signed) => {
      if (signed.hasCode || !signed.isValid) return;
      const [oldest] = noted.keys();
      if (noted.size >= MOST && oldest !== undefined) noted.delete(oldest);
      noted.set(keyOfRequest(request), signed);
    },
    take: (request) => {
      const key = keyOfRequest(request);
      const signed = noted.get(key) ?? null;
      noted.delete(key);
      return signed !== null && signed.readAt + CODE_KEPT_MS > clock.now() ? signed : null;
    },
  };
}

/** The very same authorization with the very same signature. */
export function keyOfRequest({ authorization, signature }: PaymentRequest): string {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  return [from, nonce, to, value, validAfter, validBefore, signature].join(' ');
}
