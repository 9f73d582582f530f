import { type Hex, isAddressEqual } from 'viem';
import { formed, ofOwner, own } from '../contract/own-words.ts';
import { MarketError, UnreadableAnswer } from '../sdk/errors.ts';
import { sayTime } from '../sdk/payments/signing-clock.ts';
import { AgentError } from './agent-error.ts';
import type { HeldSpend } from './spend-book.ts';
import type { SpendOptions } from './spend-options.ts';
import { dayOf, type SpendRecord, type Unpaid } from './spend-record.ts';

/** The goods or fee that is paid for, as far as the way by a transfer needs it. */
export interface Subject {
  /** Null: the fee of a listing. */
  listingId: number | null;
}

/** The next step of a seller who would buy from itself. */
export const OF_OWN_GOODS = own`Nothing to pay: the goods are your own, and openaisle export gives them back. To try a purchase, pay with a wallet of another person.`;

/** The market takes no authorization that ends sooner than this. */
const LEAST_SECONDS = 20;
/** Reasons that speak of the signature alone, whatever the time. */
const OF_THE_SIGNATURE: ReadonlySet<string> = new Set([
  'signature_invalid',
  'payer_contract_refused',
  'payer_not_deployed',
]);
/** The market holds what was signed, or it was used at another place: neither says that it was not paid. */
const NOT_KNOWN: ReadonlySet<string> = new Set(['payment_required', 'authorization_used_elsewhere']);

/**
 * Takes a refusal of what is signed into the book, so that it counts no longer than it could be carried out, and resolves to what is to be
 * thrown. Where the same payment, signed again, would only be refused again, that says so and names another way.
 */
export async function afterRefusal(
  options: SpendOptions,
  spend: HeldSpend,
  subject: Subject,
  error: unknown,
): Promise<unknown> {
  const { record } = spend;
  if (!(error instanceof MarketError) || record === null || record.state !== 'signed' || record.saved === null)
    return error;
  if (error.doNotPayAgain !== false || error.status >= 500 || NOT_KNOWN.has(error.reason)) return error;
  const { proof } = record.saved;
  if (error.reason === 'authorization_lapsed' && !(await isUnpaid(options, proof))) return error;
  const until = proof.valid_before;
  const note = (why: Unpaid['why'], isFinal: boolean) =>
    spend.noteUnpaid({ why, until, is_final: isFinal, sent_again: false });
  const isGood = until - options.client.clock.now() / 1_000 >= LEAST_SECONDS;
  if (!OF_THE_SIGNATURE.has(error.reason) && (error.reason !== 'payment_invalid' || !isGood)) {
    await note(error.reason === 'own_goods' ? 'own_goods' : 'refused', error.problem.retry === 'never');
    return error;
  }
  if (isOfTimes(error)) {
    await note('clock', true);
    return wrongClock(options, error);
  }
  const code = await readOwnCode(options);
  const isFinal = isCertain(error) || code !== null || wasRefusedBefore(spend, record);
  await note('signature', isFinal);
  return isFinal ? refusedSignature(options, subject, error, code) : error;
}

/** A signature over nothing that is good by its time, and that the market does not take: one over a payment would not be taken either. */
export async function afterRefusedCollecting(
  options: SpendOptions,
  subject: Subject,
  error: MarketError,
): Promise<AgentError> {
  if (isOfTimes(error)) return wrongClock(options, error);
  return refusedSignature(options, subject, error, await readOwnCode(options));
}

/** Whether a refusal speaks of the wallet's signature, and not of what is paid for. */
export function isOfSignature({ reason }: MarketError): boolean {
  return reason === 'payment_invalid' || OF_THE_SIGNATURE.has(reason);
}

/** Throws where what is signed was refused for good: until it has run out nothing else is signed, and the market is not asked again. */
export function mustNotBeRefused({ wallet, client }: SpendOptions, spend: HeldSpend, subject: Subject): void {
  const { record } = spend;
  if (record === null || record.state !== 'signed') return;
  const { unpaid, payee } = record;
  const isOwn = subject.listingId !== null && isAddressEqual(payee, wallet.address);
  if (isOwn || unpaid?.why === 'own_goods')
    throw new AgentError('refused', {
      reason: 'own_goods',
      title: own`These goods are sold by this wallet, or by the merchant whose wallet it is; nothing was paid`,
      nextStep: OF_OWN_GOODS,
    });
  if (unpaid?.is_final !== true) return;
  if (unpaid.why === 'signature')
    throw otherWay({ market: client.baseUrl, address: wallet.address, subject, detail: null, code: null });
  throw new AgentError('refused', {
    reason: 'not_run_out',
    title: own`The market refused what was signed for this, and it can be carried out until ${sayTime(unpaid.until * 1_000)}`,
    nextStep: own`Nothing was paid. Run the same command a quarter of an hour after that: it begins anew.`,
  });
}

/** Throws where the market took no signature of this wallet for the same today. A fee has no signature over nothing that would show it. */
export function mustNotRepeat({ wallet, client }: SpendOptions, spend: HeldSpend, subject: Subject): void {
  const { record } = spend;
  if (record?.unpaid?.why !== 'signature' || !record.unpaid.is_final || !isOfToday(record, client)) return;
  throw otherWay({ market: client.baseUrl, address: wallet.address, subject, detail: null, code: null });
}

function isOfToday({ reserved_at }: SpendRecord, { environment }: SpendOptions['client']): boolean {
  return dayOf(Date.parse(reserved_at)) === dayOf(environment.now());
}

/** Only the market's books tell a payment that ended unpaid from one that was reviewed and declined, whose money is with the payee. */
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

function isOfTimes({ reason, problem }: MarketError): boolean {
  return reason === 'payment_invalid' && problem['market_time'] !== undefined;
}

function isCertain({ reason, problem }: MarketError): boolean {
  return OF_THE_SIGNATURE.has(reason) || problem.retry === 'never';
}

/** The payment before this one had the same terms and the same end. */
function wasRefusedBefore({ previous }: HeldSpend, record: SpendRecord): boolean {
  if (previous?.unpaid?.why !== 'signature') return false;
  const [one, other] = [previous, record].map(({ payee, amount_units, network }) =>
    [payee.toLowerCase(), amount_units, network].join(' '),
  );
  return one === other;
}

/** Null: none, or it is not known. */
async function readOwnCode({ readCode, wallet }: SpendOptions): Promise<Hex | null> {
  const code = (await readCode?.(wallet.address)) ?? null;
  return code === '0x' ? null : code;
}

function wrongClock({ client }: SpendOptions, { problem }: MarketError): AgentError {
  return new AgentError('refused', {
    reason: 'clock_wrong',
    title: own`The market does not take the time of what was signed; the clock of this machine says ${sayTime(client.environment.now())}, the market’s answers ${sayTime(client.clock.now())}; nothing was paid`,
    market: { detail: problem.detail },
    nextStep: own`Set the clock of this machine by the network. If it is right, tell the market’s operator.`,
  });
}

function refusedSignature(
  { client, wallet }: SpendOptions,
  subject: Subject,
  { problem }: MarketError,
  code: Hex | null,
): AgentError {
  return otherWay({ market: client.baseUrl, address: wallet.address, subject, detail: problem.detail, code });
}

interface Refused {
  market: string;
  address: Hex;
  subject: Subject;
  detail: string | null;
  code: Hex | null;
}

/** An account whose code is that of another address (EIP-7702). */
const DELEGATES = /^0xef0100([0-9a-f]{40})$/i;

function otherWay({ market, address, subject, detail, code }: Refused): AgentError {
  const [, delegate] = DELEGATES.exec(code ?? '') ?? [];
  const asked =
    delegate === undefined
      ? own`the code at that address`
      : own`${formed('address', `0x${delegate}`)}, to which that address delegates`;
  const why = code === null ? own`` : own`: USDC asks ${asked}, in place of the key`;
  const path = subject.listingId === null ? own`/api/fee-intent` : own`/api/purchase-intent/${subject.listingId}`;
  const payer = formed('address', address);
  const headers = own`-H "Authorization: Bearer $OPENAISLE_KEY" -H "Content-Type: application/json"`;
  return new AgentError('refused', {
    reason: 'payment_invalid',
    title: own`The market takes no signature of ${payer}${why}; nothing was paid`,
    nextStep: own`Another signature of this wallet does not help: pay by a transfer, or with another wallet. A transfer begins with: curl -X POST ${ofOwner(market)}${ofOwner(path)} ${headers} -d '{"payer_wallet": "${payer}"}'`,
    ...(detail === null ? {} : { market: { detail } }),
  });
}
