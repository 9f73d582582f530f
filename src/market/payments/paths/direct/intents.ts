import { checksummed } from '../../../../contract/chain-values.ts';
import { usdcText } from '../../../../contract/money.ts';
import {
  INTENT_MINUTES,
  INTENT_RETENTION_DAYS,
  MAX_EXACT_UNITS,
  type PaymentPurpose,
} from '../../../../contract/vocabulary.ts';
import { readCode } from '../../../../platform/chain/reads.ts';
import { RpcFailure } from '../../../../platform/chain/rpc.ts';
import { delegateOf } from '../../../../platform/chain/signature-forms.ts';
import { isoTime } from '../../../../platform/clock.ts';
import type { Tx } from '../../../../platform/database/database.ts';
import type { ScalarQuery } from '../../../../platform/database/quota.ts';
import type { Hex } from '../../../../platform/hex.ts';
import { Refusal } from '../../../../platform/refusal.ts';
import type { Market, Merchant } from '../../../context.ts';
import type { ChainHead } from '../../chain/read-head.ts';
import { mustNotBePaid } from '../../payment-guards.ts';
import { slipOfIntent } from '../../recovery-slip.ts';
import { type EarlyCheck, judgeSignature, type SignedIntent } from './check-signature.ts';
import { deleteOldIntents, type Intent, insertIntent, listUnclaimedIntents, usableIntentQuery } from './store.ts';

/** Terms of a payment, before a payer is known. */
export interface IntentTerms {
  purpose: PaymentPurpose;
  listingId: bigint | null;
  payee: Hex;
  minimumUnits: bigint;
}

const INTENT_MS = INTENT_MINUTES * 60_000;
/** An open intent is returned again only if at least this much time is left. */
const MIN_LEFT_MS = 300_000;
export const MAX_DRIFT_MS = 30_000;

/**
 * Returns the start time of an intent: the earlier of our clock and the chain's, in whole seconds, so that every transfer made after this
 * answer is later. Throws 503 if the two clocks differ too much, because the transfer's block time decides.
 */
export async function readIntentTime(market: Market, readHead: () => Promise<ChainHead>): Promise<Date> {
  let head: ChainHead;
  try {
    head = await readHead();
  } catch (error) {
    if (error instanceof RpcFailure) throw new Refusal('payment_check_unavailable', { retryAfterSeconds: 2 });
    throw error;
  }
  // No payment may begin by the clock of another chain, or of one that dropped a final block.
  if (head.chainId !== market.config.network.chainId || head.floor === null) {
    throw new Refusal('payment_check_unavailable', { retryAfterSeconds: 10 });
  }
  const now = market.clock.now();
  const chain = Number(head.latest.timestamp) * 1000;
  if (Math.abs(now - chain) > MAX_DRIFT_MS) throw new Refusal('chain_clock', { retryAfterSeconds: 5 });
  return new Date(Math.floor(Math.min(now, chain) / 1000) * 1000);
}

/** Whether enough time is left to sign the challenge, send the transfer and have it mined. If not, a new intent replaces this one. */
export function hasTimeLeft({ clock }: Pick<Market, 'clock'>, { expiresAt }: Intent): boolean {
  return expiresAt.getTime() - clock.now() >= MIN_LEFT_MS;
}

export interface IntentFindings {
  /** Code of the intent's wallet at the latest block; `0x` if it has no code or no wallet is named. */
  code: Hex;
  check: EarlyCheck | null;
}

/** Throws 503 if the chain cannot be read. No money has moved, so nothing is lost. */
export async function readFindings(
  readHead: () => Promise<ChainHead>,
  payer: Hex | null,
  signed: SignedIntent | null,
): Promise<IntentFindings> {
  try {
    const check = signed && (await judgeSignature(readHead, signed.intent, signed.signature));
    if (payer === null) return { code: '0x', check };
    return { code: await readCode((await readHead()).rpc, payer, 'latest'), check };
  } catch (error) {
    if (error instanceof RpcFailure) throw new Refusal('payment_check_unavailable', { retryAfterSeconds: 2 });
    throw error;
  }
}

/** Checks for a lost payment, just as an x402 payment does. If no wallet is named, there is no payer to search for. */
export async function mustNotBeTransferred(
  market: Market,
  readHead: () => Promise<ChainHead>,
  { payee, minimumUnits }: IntentTerms,
  body: { payer_wallet?: Hex | undefined; pay_anew?: boolean | undefined },
): Promise<void> {
  const { payer_wallet: payer, pay_anew: payAnew = false } = body;
  if (payer === undefined) return;
  await mustNotBePaid(market, readHead, { payer, payee, valueUnits: minimumUnits, payAnew });
}

/** Returns a query that selects a row if this merchant would get an existing intent instead of a new one. */
export function existingIntentQuery(
  market: Pick<Market, 'clock'>,
  { merchant, terms, payer }: { merchant: Merchant; terms: IntentTerms; payer: Hex | null },
): ScalarQuery {
  return usableIntentQuery({ ...terms, merchantId: merchant.id }, payer, new Date(market.clock.now() + MIN_LEFT_MS));
}

export interface NewIntent {
  merchant: Merchant;
  terms: IntentTerms;
  payer: Hex | null;
  /** Whether the wallet is a contract. A contract is asked to send an exact, random amount. */
  isContract: boolean;
  createdAt: Date;
}

/** Returns false for an account that delegates by EIP-7702, because it still has a key whose signature counts. */
export function isContract({ code }: Pick<IntentFindings, 'code'>): boolean {
  return code !== '0x' && delegateOf(code) === null;
}

export interface OpenedIntent {
  intent: Intent;
  isNew: boolean;
}

/**
 * Returns this merchant's open intent for these terms, or a new one. Call under a lock for merchant and terms, so that two concurrent
 * requests get one intent. Older intents stay valid for transfers within their window.
 */
export async function openIntent(tx: Tx, market: Market, requested: NewIntent): Promise<OpenedIntent> {
  const { merchant, terms, payer } = requested;
  const now = market.clock.now();
  const open = await listUnclaimedIntents(tx, { ...terms, merchantId: merchant.id }, new Date(now));
  if (payer !== null && open.some((intent) => intent.payer !== null && intent.payer !== payer)) {
    throw new Refusal('other_payer_open');
  }
  const inTime = open.filter((intent) => hasTimeLeft(market, intent) && (payer === null || intent.payer === payer));
  // Prefer an intent that names a wallet, because the buyer made it later. Creation times do not show this within one second.
  const usable = inTime.find((intent) => intent.payer !== null) ?? inTime[0];
  if (usable !== undefined) return { intent: usable, isNew: false };
  const intent = makeIntent(market, requested);
  await insertIntent(tx, intent);
  return { intent, isNew: true };
}

/** Builds a new intent without storing it. */
export function makeIntent(
  market: Pick<Market, 'config' | 'random'>,
  { merchant, terms, payer, isContract: asksExactAmount, createdAt }: NewIntent,
): Intent {
  const { network, baseUrl } = market.config;
  const { purpose, listingId, payee, minimumUnits } = terms;
  const boundTerms = {
    id: market.random.bytes(16).toString('hex'),
    purpose,
    listingId,
    chainId: network.chainId,
    asset: network.usdc,
    payee,
    payer,
    minimumUnits,
    exactUnits: asksExactAmount ? minimumUnits + 1n + BigInt(market.random.int(MAX_EXACT_UNITS)) : null,
    nonce: market.random.bytes(16).toString('hex'),
    createdAt,
    expiresAt: new Date(createdAt.getTime() + INTENT_MS),
  };
  const challenge = challengeOf({ ...boundTerms, baseUrl, buyer: merchant.handle });
  return { ...boundTerms, merchantId: merchant.id, challenge };
}

/** Presents an intent to its owner; the route adds `listing_id`. */
export function presentIntentTerms(
  market: Pick<Market, 'config' | 'pepper'>,
  intent: Intent,
  merchant: Merchant,
  { code, check, next }: IntentFindings & { next: string },
) {
  const hasCode = code !== '0x';
  const exactAmount = intent.exactUnits === null ? {} : { exact_amount_units: intent.exactUnits.toString() };
  return {
    id: intent.id,
    buyer: merchant.handle,
    payer_wallet: intent.payer && checksummed(intent.payer),
    seller_wallet: checksummed(intent.payee),
    network: market.config.network.name,
    chain_id: Number(intent.chainId),
    asset: checksummed(intent.asset),
    minimum_amount_usdc: usdcText(intent.minimumUnits),
    minimum_amount_units: intent.minimumUnits.toString(),
    ...exactAmount,
    challenge_nonce: intent.nonce,
    created_at: isoTime(intent.createdAt),
    expires_at: isoTime(intent.expiresAt),
    signature_method: 'personal_sign' as const,
    challenge: intent.challenge,
    recovery_slip: slipOfIntent(market, intent),
    tip_allowed: true as const,
    ...(hasCode ? { prove_first: true as const } : {}),
    next: check?.nextStep ?? (hasCode ? `${PROVE_FIRST} ${next}` : next),
  };
}

const PROVE_FIRST =
  'This wallet has code: before any money moves, send intent_id and payer_signature to this address once more, and pay only if signature_checked is true. Send exact_amount_units, where it is named, in place of the least.';

type ChallengeTerms = Omit<Intent, 'challenge' | 'merchantId' | 'exactUnits'> & { baseUrl: string; buyer: string };

const SERVICE = 'Openaisle';
const ANY_SIGNER = 'the wallet that signs this text';

/**
 * Writes the text that the payer signs. It contains every binding term of the intent, one per line, so the signature is valid for nothing
 * else.
 */
function challengeOf(terms: ChallengeTerms): string {
  const lines: [string, string][] = [
    ['service', SERVICE],
    ['base_url', terms.baseUrl],
    ['chain_id', terms.chainId.toString()],
    ['intent_id', terms.id],
    ['purpose', terms.purpose],
    ['listing_id', terms.listingId?.toString() ?? 'none'],
    ['buyer', terms.buyer],
    ['payer', terms.payer === null ? ANY_SIGNER : checksummed(terms.payer)],
    ['payee', checksummed(terms.payee)],
    ['asset', checksummed(terms.asset)],
    ['minimum_amount_units', terms.minimumUnits.toString()],
    ['nonce', terms.nonce],
    ['created_at', isoTime(terms.createdAt)],
    ['expires_at', isoTime(terms.expiresAt)],
  ];
  return lines.map(([name, value]) => `${name}: ${value}`).join('\n');
}

/** Whether the stored text matches the intent's terms. The market's address may have changed since. */
export function challengeAgrees(intent: Intent, buyer: string): boolean {
  const baseUrl = /^base_url: (.*)$/m.exec(intent.challenge)?.[1];
  return baseUrl !== undefined && challengeOf({ ...intent, baseUrl, buyer }) === intent.challenge;
}

const DAY_MS = 86_400_000;
/** Small batches, so that a concurrent claim does not wait. */
const BATCH = 500;

/** Deletes intents that nobody claimed within INTENT_RETENTION_DAYS of their end. Returns the number deleted. */
export async function pruneIntents({ database, clock }: Pick<Market, 'database' | 'clock'>): Promise<number> {
  const before = new Date(clock.now() - INTENT_RETENTION_DAYS * DAY_MS);
  let count = 0;
  for (;;) {
    const deleted = await deleteOldIntents(database, before, BATCH);
    count += deleted;
    if (deleted < BATCH) return count;
  }
}
