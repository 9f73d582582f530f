import { checksummed } from '../../../../contract/chain-values.ts';
import { isoTime } from '../../../../platform/clock.ts';
import type { Intent } from './store.ts';

export type ChallengeTerms = Omit<Intent, 'challenge' | 'merchantId'> & { baseUrl: string; buyer: string };

const SERVICE = 'Openaisle';
/** Where the intent names no wallet. */
const WHOEVER_SIGNS = 'the wallet that signs this text';

/** What the payer signs (W8): every term of the intent, one a line, so that a signature can serve for nothing else. */
export function challengeOf(terms: ChallengeTerms): string {
  const lines: [string, string][] = [
    ['service', SERVICE],
    ['base_url', terms.baseUrl],
    ['chain_id', terms.chainId.toString()],
    ['intent_id', terms.id],
    ['purpose', terms.purpose],
    ['listing_id', terms.listingId?.toString() ?? 'none'],
    ['buyer', terms.buyer],
    ['payer', terms.payer === null ? WHOEVER_SIGNS : checksummed(terms.payer)],
    ['payee', checksummed(terms.payee)],
    ['asset', checksummed(terms.asset)],
    ['minimum_amount_units', terms.minimumUnits.toString()],
    ['nonce', terms.nonce],
    ['created_at', isoTime(terms.createdAt)],
    ['expires_at', isoTime(terms.expiresAt)],
  ];
  return lines.map(([name, value]) => `${name}: ${value}`).join('\n');
}

/** Whether the text that is stored says what the intent says. The address of the market may be another one by now. */
export function challengeAgrees(intent: Intent, buyer: string): boolean {
  const baseUrl = /^base_url: (.*)$/m.exec(intent.challenge)?.[1];
  return baseUrl !== undefined && challengeOf({ ...intent, baseUrl, buyer }) === intent.challenge;
}
