import { type Hex, isAddressEqual } from 'viem';
import { formed, ofOwner, own } from '../contract/own-words.ts';
import { MarketError, UnreadableAnswer } from '../sdk/errors.ts';
import { formatTime } from '../sdk/payments/signing-clock.ts';
import { AgentError } from './agent-error.ts';
import type { HeldSpend } from './spend-book.ts';
import type { SpendOptions } from './spend-options.ts';
import { dayOf, type SpendRecord, type Unpaid } from './spend-record.ts';

export interface Subject {
  /** Null for a listing fee. */
  listingId: number | null;
}

/** Next step for a seller who tried to buy from itself. */
export const OWN_GOODS_NEXT_STEP = own`These goods are your own: run openaisle export to get them. To test a purchase, pay with a wallet that doesn’t belong to this seller.`;

/** The market refuses authorizations that expire sooner than this. */
const MIN_SECONDS = 20;
/** Reasons that concern the signature itself, at any time. */
const SIGNATURE_REASONS: ReadonlySet<string> = new Set([
  'signature_invalid',
  'payer_contract_refused',
  'payer_not_deployed',
]);
/** Reasons that leave open whether the payment was made, because the market has the signature or it was used elsewhere. */
const UNDECIDED_REASONS: ReadonlySet<string> = new Set(['payment_required', 'authorization_used_elsewhere']);

/**
 * Records the refusal of a signed payment, so that it counts against the day only as long as it could still be executed. Returns the error
 * to throw; if a new signature would be refused too, that error names another way to pay.
 */
export async function recordRefusal(
  options: SpendOptions,
  spend: HeldSpend,
  subject: Subject,
  error: unknown,
): Promise<unknown> {
  const { record } = spend;
  if (!(error instanceof MarketError) || record === null || record.state !== 'signed' || record.saved === null)
    return error;
  if (error.doNotPayAgain !== false || error.status >= 500 || UNDECIDED_REASONS.has(error.reason)) return error;
  const { proof } = record.saved;
  if (error.reason === 'authorization_lapsed' && !(await isUnpaid(options, proof))) return error;
  const until = proof.valid_before;
  const note = (why: Unpaid['why'], isFinal: boolean) =>
    spend.noteUnpaid({ why, until, is_final: isFinal, sent_again: false });
  const isStillValid = until - options.client.clock.now() / 1_000 >= MIN_SECONDS;
  if (!SIGNATURE_REASONS.has(error.reason) && (error.reason !== 'payment_invalid' || !isStillValid)) {
    await note(error.reason === 'own_goods' ? 'own_goods' : 'refused', error.problem.retry === 'never');
    return error;
  }
  if (isAboutTime(error)) {
    await note('clock', true);
    return wrongClock(options, error);
  }
  const code = await readOwnCode(options);
  const isFinal = isFinalRefusal(error) || code !== null || wasRefusedBefore(spend, record);
  await note('signature', isFinal);
  return isFinal ? uselessSignature(options, subject, error.problem.detail, code) : error;
}

/** Returns the error to throw for a refused value-0 signature. The market would refuse a signed payment too. */
export async function explainRefusedCollecting(
  options: SpendOptions,
  subject: Subject,
  error: MarketError,
): Promise<AgentError> {
  if (isAboutTime(error)) return wrongClock(options, error);
  return uselessSignature(options, subject, error.problem.detail, await readOwnCode(options));
}

/** Whether a refusal concerns the wallet's signature rather than the goods. */
export function isAboutSignature({ reason }: MarketError): boolean {
  return reason === 'payment_invalid' || SIGNATURE_REASONS.has(reason);
}

/** Throws if the signed payment is for the wallet's own goods or was refused for good. Nothing else is signed until it expires. */
export function mustNotBeRefused(options: SpendOptions, spend: HeldSpend, subject: Subject): void {
  const { record } = spend;
  if (record === null || record.state !== 'signed') return;
  const { unpaid, payee } = record;
  const isOwn = subject.listingId !== null && isAddressEqual(payee, options.wallet.address);
  if (isOwn || unpaid?.why === 'own_goods')
    throw new AgentError('refused', {
      reason: 'own_goods',
      title: own`This wallet, or the merchant it belongs to, sells these goods. Nothing was paid`,
      nextStep: OWN_GOODS_NEXT_STEP,
    });
  if (unpaid?.is_final !== true) return;
  if (unpaid.why === 'signature') throw uselessSignature(options, subject);
  throw new AgentError('refused', {
    reason: 'not_run_out',
    title: own`The market refused the signed payment, which stays valid until ${formatTime(unpaid.until * 1_000)}`,
    nextStep: own`Nothing was paid. Run the same command 15 minutes after that time to start over.`,
  });
}

/**
 * Throws if the market refused this wallet's signature for the same fee today. A fee has no value-0 signature that
 * would show the refusal beforehand.
 */
export function mustNotRepeatRefusal(options: SpendOptions, spend: HeldSpend, subject: Subject): void {
  const { record } = spend;
  if (record?.unpaid?.why !== 'signature' || !record.unpaid.is_final || !isFromToday(record, options.client)) return;
  throw uselessSignature(options, subject);
}

function isFromToday({ reserved_at }: SpendRecord, { environment }: SpendOptions['client']): boolean {
  return dayOf(Date.parse(reserved_at)) === dayOf(environment.now());
}

/**
 * Asks the market, because only its books distinguish an unpaid payment from one that was reviewed and declined, where the payee has the
 * money.
 */
async function isUnpaid({ client, signal }: SpendOptions, proof: { payer: string; nonce: string }): Promise<boolean> {
  const query = { payer: proof.payer, nonce: proof.nonce };
  try {
    const { payment } = (await client.getPayment({ query, ...(signal === undefined ? {} : { signal }) })).body;
    return payment.payment_status === 'unpaid';
  } catch (error) {
    if (error instanceof MarketError || error instanceof UnreadableAnswer) return false;
    throw error;
  }
}

function isAboutTime({ reason, problem }: MarketError): boolean {
  return reason === 'payment_invalid' && problem['market_time'] !== undefined;
}

function isFinalRefusal({ reason, problem }: MarketError): boolean {
  return SIGNATURE_REASONS.has(reason) || problem.retry === 'never';
}

/** Whether the previous payment had the same terms and the same outcome. */
function wasRefusedBefore({ previous }: HeldSpend, record: SpendRecord): boolean {
  if (previous?.unpaid?.why !== 'signature') return false;
  const [one, other] = [previous, record].map(({ payee, amount_units, network }) =>
    [payee.toLowerCase(), amount_units, network].join(' '),
  );
  return one === other;
}

/** Returns null if the wallet has no code or it can't be read. */
async function readOwnCode({ readCode, wallet }: SpendOptions): Promise<Hex | null> {
  const code = (await readCode?.(wallet.address)) ?? null;
  return code === '0x' ? null : code;
}

function wrongClock({ client }: SpendOptions, { problem }: MarketError): AgentError {
  return new AgentError('refused', {
    reason: 'clock_wrong',
    title: own`The market refused the time in the signature: this machine’s clock says ${formatTime(client.environment.now())}, the market’s ${formatTime(client.clock.now())}. Nothing was paid`,
    market: { detail: problem.detail },
    nextStep: own`Set this machine’s clock. If it is right, tell the market’s operator.`,
  });
}

/** Code of an account that delegates to another address (EIP-7702). */
const DELEGATES = /^0xef0100([0-9a-f]{40})$/i;

function uselessSignature(
  { client, wallet }: SpendOptions,
  subject: Subject,
  detail: string | null = null,
  code: Hex | null = null,
): AgentError {
  const [, delegate] = DELEGATES.exec(code ?? '') ?? [];
  const verifier =
    delegate === undefined
      ? own`the code at that address`
      : own`${formed('address', `0x${delegate}`)}, to which that address delegates`;
  const why = code === null ? own`` : own`, because USDC checks them with ${verifier} instead of the key`;
  const path = subject.listingId === null ? own`/api/fee-intent` : own`/api/purchase-intent/${subject.listingId}`;
  const payer = formed('address', wallet.address);
  const headers = own`-H "Authorization: Bearer $OPENAISLE_KEY" -H "Content-Type: application/json"`;
  return new AgentError('refused', {
    reason: 'payment_invalid',
    title: own`The market refuses signatures of ${payer}${why}. Nothing was paid`,
    nextStep: own`Signing again won’t help: pay by a transfer, or with another wallet. To start a transfer: curl -X POST ${ofOwner(client.baseUrl)}${ofOwner(path)} ${headers} -d '{"payer_wallet": "${payer}"}'`,
    ...(detail === null ? {} : { market: { detail } }),
  });
}
