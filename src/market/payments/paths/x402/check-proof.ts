import { checksummed } from '../../../../contract/chain-values.ts';
import { usdcOfUnits } from '../../../../contract/money.ts';
import { AUTHORIZATION_MAX_AHEAD_SECONDS, AUTHORIZATION_MIN_AHEAD_SECONDS } from '../../../../contract/vocabulary.ts';
import { isCostly } from '../../../../platform/chain/log-span.ts';
import { type Log, readCode, readReceipt } from '../../../../platform/chain/reads.ts';
import { type Rpc, RpcFailure } from '../../../../platform/chain/rpc.ts';
import { blocksBetween, searchLogs } from '../../../../platform/chain/search-logs.ts';
import { authorizationDigest } from '../../../../platform/chain/shapes.ts';
import { recoverSigner } from '../../../../platform/chain/signature.ts';
import { canonicalForm, delegateOf, findAcceptedForm, isEnvelope } from '../../../../platform/chain/signature-forms.ts';
import {
  AUTHORIZATION_USED_TOPIC,
  addressTopic,
  decodeTransfer,
  readAuthorizationState,
  readBalance,
} from '../../../../platform/chain/usdc.ts';
import { isoTime } from '../../../../platform/clock.ts';
import type { Hex } from '../../../../platform/hex.ts';
import { Refusal } from '../../../../platform/refusal.ts';
import { admitSpender } from '../../../../platform/request-cost.ts';
import type { Market, MarketConfig } from '../../../context.ts';
import type { ChainHead } from '../../chain/read-head.ts';
import type { Proof, Terms } from '../../terms.ts';
import { paymentRequired } from './payment-required.ts';

/** Most providers accept this many blocks in one query. */
const SPAN_BLOCKS = 2_000n;
const SEARCHED_SECONDS = 600n;
/** Margin for blocks that came faster or slower than the network's usual pace. */
const MARGIN_BLOCKS = 500n;

interface LatestHead {
  rpc: Rpc;
  latest: { number: bigint; timestamp: bigint };
}

/**
 * Finds the transaction in which this used authorization paid exactly this payee and price. Searches 2,000 blocks that should include the
 * 600 s before validBefore, with one query and one receipt. If the provider accepts fewer blocks per query, searches only those seconds,
 * located by block time. Null does not prove that the authorization paid elsewhere.
 */
async function findExactUse(
  { rpc, latest }: LatestHead,
  network: MarketConfig['network'],
  { authorization }: Proof,
  terms: Terms,
): Promise<Hex | null> {
  const age = latest.timestamp - (authorization.validBefore - SEARCHED_SECONDS);
  if (age < 0n) return null;
  const wanted = latest.number - age / BigInt(network.blockSeconds) - MARGIN_BLOCKS;
  const newest = latest.number - SPAN_BLOCKS + 1n;
  const from = maxOf(0n, wanted < newest ? wanted : newest);
  const to = from + SPAN_BLOCKS - 1n;
  const all = { fromBlock: from, toBlock: to < latest.number ? to : latest.number };
  const { validBefore } = authorization;
  const seconds = { from: validBefore - SEARCHED_SECONDS, before: validBefore };
  const uses = await searchLogs(rpc, {
    address: network.usdc,
    topics: [AUTHORIZATION_USED_TOPIC, addressTopic(authorization.from), authorization.nonce],
    ...(isCostly(rpc, all) ? await blocksBetween(rpc, all, seconds) : all),
    isEnough: ({ length }) => length > 0,
  });
  const use = uses.at(-1);
  if (use === undefined) return null;
  const receipt = await readReceipt(rpc, use.transactionHash);
  // The token logs an authorization's transfer directly after its use.
  const next = receipt?.logs.find((log) => log.logIndex === use.logIndex + 1);
  return next !== undefined && paysTerms(next, network, authorization.from, terms) ? use.transactionHash : null;
}

function paysTerms(log: Log, { usdc }: MarketConfig['network'], payer: string, terms: Terms): boolean {
  const transfer = log.address === usdc ? decodeTransfer(log) : null;
  return transfer?.from === payer && transfer.to === terms.payee && transfer.value === terms.valueUnits;
}

function maxOf(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

type ProofMarket = Pick<Market, 'rpc' | 'clock' | 'config'>;

/**
 * A proof is fresh if `payer` signed it for these terms and its nonce is unused, so that it shows control of the wallet. `floor` was the
 * highest block accepted as final when the nonce was read. Any use of the nonce is above `floor`, and no reorganisation can move a use to
 * `floor` or below. `latest` is the block at whose state the nonce was read; `balanceUnits` was read at the same time.
 */
export type ProofCheck =
  | { payer: Hex; floor: bigint; latest: { timestamp: bigint }; balanceUnits: bigint }
  | { refusal: Refusal };

/** Describes a fault of the proof that can be found without a network call. Null if there is none. */
export function findFault(
  proof: Proof,
  terms: Terms,
  network: ProofMarket['config']['network'],
  now: number,
): string | null {
  return findFaultOfTerms(proof, terms, network) ?? findFaultOfTimes(proof, now);
}

function findFaultOfTerms(proof: Proof, terms: Terms, network: ProofMarket['config']['network']): string | null {
  const { authorization } = proof;
  const wanted = proof.version === 1 ? network.name : network.caip2;
  if (proof.scheme !== 'exact') return 'The scheme must be exact.';
  if (proof.network !== wanted) return `The network must be ${wanted}.`;
  if (proof.asset !== null && proof.asset.toLowerCase() !== network.usdc) return 'The asset is not the USDC asked for.';
  if (proof.payTo !== null && proof.payTo.toLowerCase() !== terms.payee) return 'payTo is not the payee asked for.';
  if (proof.amount !== null && proof.amount !== terms.valueUnits.toString())
    return 'The amount is not the one asked for.';
  if (authorization.to !== terms.payee) return 'The authorization pays another payee.';
  if (authorization.value !== terms.valueUnits) return `The value must be exactly ${terms.valueUnits} units.`;
  return null;
}

function findFaultOfTimes({ authorization }: Proof, now: number): string | null {
  const seconds = BigInt(Math.floor(now / 1000));
  if (authorization.validAfter > seconds) return 'The authorization is not valid yet.';
  const ahead = authorization.validBefore - seconds;
  if (ahead < BigInt(AUTHORIZATION_MIN_AHEAD_SECONDS)) return 'The authorization has expired or is about to.';
  if (ahead > BigInt(AUTHORIZATION_MAX_AHEAD_SECONDS)) {
    return `validBefore must be at most ${AUTHORIZATION_MAX_AHEAD_SECONDS} s ahead.`;
  }
  return null;
}

interface ProofToCheck {
  proof: Proof;
  terms: Terms;
}

export interface ProofOptions {
  /** Whether a wallet with code must accept the signature at the finalized block as well. */
  alsoAtFinalized?: boolean;
}

/**
 * Checks a fresh authorization, except for the balance (see mustHaveFunds). Stores nothing. If the chain cannot be read, refuses with 503,
 * which says nothing about the proof.
 */
export async function checkProof(
  market: ProofMarket,
  { proof, terms }: ProofToCheck,
  readHead: () => Promise<ChainHead>,
  options: ProofOptions = {},
): Promise<ProofCheck> {
  if (proof.resourceUrl !== null && proof.resourceUrl !== terms.resource) {
    return {
      refusal: new Refusal('payment_bound_elsewhere', {
        detail: 'resource.url names something else that is paid for.',
      }),
    };
  }
  try {
    return await checkOnChain(market, { proof, terms }, readHead, options);
  } catch (error) {
    if (error instanceof RpcFailure)
      return { refusal: new Refusal('payment_check_unavailable', { retryAfterSeconds: 2 }) };
    throw error;
  }
}

/**
 * Checks the signature, then the nonce, and reports wrong terms or times only if the nonce is unused, because a payer who is asked to sign
 * again must not have paid by this proof. A proof that a payer without code did not sign costs only one call.
 */
async function checkOnChain(
  market: ProofMarket,
  { proof, terms }: ProofToCheck,
  readHead: () => Promise<ChainHead>,
  options: ProofOptions,
): Promise<ProofCheck> {
  const { config } = market;
  const { from } = proof.authorization;
  const read = await readSignature(market, proof, options);
  const isSigned = read.form !== null && read.isFinal;
  const refusal = refuseMisfit(market, proof, terms) ?? (isSigned ? null : refuseSignature(config, terms, proof, read));
  // A contract wallet may have accepted the signature when it paid and reject it now, so check the authorization's nonce anyway.
  if (refusal !== null && !isSigned && read.code === '0x') return { refusal };
  const head = await readHead();
  if (head.chainId !== config.network.chainId || head.floor === null) {
    return { refusal: new Refusal('payment_check_unavailable', { retryAfterSeconds: 10 }) };
  }
  const holdings = await readPayer(market, head, proof, terms);
  if ('refusal' in holdings) return holdings;
  return refusal === null ? { payer: from, floor: head.floor.number, latest: head.latest, ...holdings } : { refusal };
}

/** Adds `market_time` if only the times are wrong, so that the caller can compare clocks. */
function refuseMisfit({ config, clock }: ProofMarket, proof: Proof, terms: Terms): Refusal | null {
  const now = clock.now();
  const fault = findFault(proof, terms, config.network, now);
  if (fault === null) return null;
  const refusal = paymentRequired(config, terms, 'payment_invalid', fault);
  const isOfTimes = findFaultOfTerms(proof, terms, config.network) === null;
  return isOfTimes ? withFields(refusal, { market_time: isoTime(now) }) : refusal;
}

/**
 * Explains why the token would reject the signature. The token calls the contract at the payer's address or, if there is none, recovers the
 * signing key.
 */
function refuseSignature(config: MarketConfig, terms: Terms, { signature }: Proof, read: ReadSignature): Refusal {
  const { form, code } = read;
  if (code === '0x') {
    return isEnvelope(signature)
      ? paymentRequired(config, terms, 'payer_not_deployed')
      : paymentRequired(config, terms, 'signature_invalid', NOT_SIGNED_BY_PAYER);
  }
  const delegate = delegateOf(code);
  if (form !== null) {
    const { reason, options } = paymentRequired(config, terms, 'payer_contract_refused', NOT_FINAL);
    return new Refusal(reason, { ...options, nextStep: 'Sign again once the last change of the wallet is final.' });
  }
  const contract =
    delegate === null
      ? 'the contract at the payer’s address'
      : `${checksummed(delegate)}, the contract to which the payer’s address delegates (EIP-7702)`;
  const detail = `USDC asks ${contract}, and it did not accept the signature.`;
  return withFields(paymentRequired(config, terms, 'payer_contract_refused', detail), {
    delegate: delegate && checksummed(delegate),
  });
}

const NOT_FINAL = 'The contract accepts the signature at the latest block, and does not at the finalized one.';
const NOT_SIGNED_BY_PAYER = 'It is not a signature of these terms by the key of the payer, with a low s.';

function withFields({ reason, options }: Refusal, fields: Readonly<Record<string, unknown>>): Refusal {
  return new Refusal(reason, { ...options, fields: { ...options.fields, ...fields } });
}

/** Returns the payer's balance, or the refusal for a nonce that is used, cancelled or about to be. */
async function readPayer(
  { config }: ProofMarket,
  head: ChainHead,
  proof: Proof,
  terms: Terms,
): Promise<{ balanceUnits: bigint } | { refusal: Refusal }> {
  const { rpc, latest } = head;
  const { usdc } = config.network;
  const { from, nonce } = proof.authorization;
  const [usedLatest, usedPending, balanceUnits] = await Promise.all([
    // Read at the head's own block, so that a lagging node fails instead of calling a used nonce unused.
    readAuthorizationState(rpc, usdc, { authorizer: from, nonce }, latest.number),
    readAuthorizationState(rpc, usdc, { authorizer: from, nonce }, 'pending'),
    readBalance(rpc, usdc, from),
  ]);
  if (!usedLatest && !usedPending) return { balanceUnits };
  if (usedLatest) return { refusal: await refuseUsed(head, config, proof, terms) };
  const refusal = new Refusal('authorization_used_elsewhere', {
    detail: 'It is being used or cancelled at this moment.',
    doNotPayAgain: true,
    nextStep: 'Wait until the transaction is in a block, then send the same request again. Do not pay again.',
    retryAfterSeconds: 5,
  });
  return { refusal };
}

async function refuseUsed(
  head: ChainHead,
  config: ProofMarket['config'],
  proof: Proof,
  terms: Terms,
): Promise<Refusal> {
  let txHash: Hex | null;
  try {
    txHash = await findExactUse(head, config.network, proof, terms);
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    // The nonce is used, but it cannot be determined now whom it paid.
    return new Refusal('payment_check_unavailable', { retryAfterSeconds: 2, doNotPayAgain: true });
  }
  if (txHash === null) return new Refusal('authorization_used_elsewhere');
  return new Refusal('authorization_used_elsewhere', {
    fields: { tx_hash: txHash },
    detail: 'The chain shows that it has paid exactly this payee and price, by a payment that was not opened here.',
    doNotPayAgain: true,
    nextStep:
      'The payee has the money. Do not pay again. If GET /api/events?kind=recovery shows that this market lost books, send the recovery slip of its answers, or collect with tx_hash; else ask the payee, or the service to which you showed it first.',
  });
}

interface ReadSignature {
  /** The signature in the form that the token accepts. Null if it accepts none. */
  form: Hex | null;
  /** Code at the payer's address, or `0x`. */
  code: Hex;
  /** False only if the contract was also asked at the finalized block and rejected the signature there. */
  isFinal: boolean;
}

/** The accepted form of each proof's signature. Every request parses its own proof, so an entry lives as long as one request. */
const acceptedForms = new WeakMap<Proof, Hex>();

/** Whether the payer signed exactly this authorization. Asks the contract at the payer's address or, if there is none, recovers the key. */
export async function isSignedBy(market: Pick<Market, 'rpc' | 'config'>, proof: Proof): Promise<boolean> {
  return acceptedForms.has(proof) || (await readSignature(market, proof, {})).form !== null;
}

export function withAcceptedSignature(proof: Proof): Proof {
  return { ...proof, signature: acceptedForms.get(proof) ?? proof.signature };
}

async function readSignature(
  { rpc, config }: Pick<Market, 'rpc' | 'config'>,
  proof: Proof,
  { alsoAtFinalized = false }: ProofOptions,
): Promise<ReadSignature> {
  const { authorization, signature } = proof;
  const { from } = authorization;
  const { network } = config;
  const digest = authorizationDigest(
    {
      name: network.domainName,
      version: network.domainVersion,
      chainId: network.chainId,
      verifyingContract: network.usdc,
    },
    authorization,
  );
  const keyForm = canonicalForm(signature);
  const recovered = (await recoverSigner(digest, keyForm)) === from;
  if (recovered) admitSpender(from);
  const readAt = async (block: 'latest' | 'finalized'): Promise<Pick<ReadSignature, 'form' | 'code'>> => {
    const code = await readCode(rpc, from, block);
    if (code === '0x') return { form: recovered ? keyForm : null, code };
    return { form: await findAcceptedForm(rpc, { wallet: from, digest, signature }, { block }), code };
  };
  const now = await readAt('latest');
  if (now.form !== null) acceptedForms.set(proof, now.form);
  const isAskedAtFinalized = alsoAtFinalized && now.code !== '0x' && now.form !== null;
  return { ...now, isFinal: !isAskedAtFinalized || (await readAt('finalized')).form !== null };
}

/**
 * Call last, and only before a row is opened: once a payment was submitted, a lower balance may come from that very payment. The same proof
 * works once the wallet holds enough, because nothing was stored.
 */
export function mustHaveFunds(config: ProofMarket['config'], terms: Terms, balance: bigint): void {
  if (balance >= terms.valueUnits) return;
  const [balance_usdc, price_usdc] = [usdcOfUnits(balance), usdcOfUnits(terms.valueUnits)];
  const detail = `The payer holds ${balance_usdc} USDC and the price is ${price_usdc} USDC.`;
  throw withFields(paymentRequired(config, terms, 'insufficient_funds', detail), { balance_usdc, price_usdc });
}

const MAX_BEHIND_SECONDS = 30n;

/**
 * Refuses (503 `chain_clock`) if the latest block is old, because the nonce may have been used since. A chain ahead of our clock is fine.
 */
export function mustNotLag(clock: { now(): number }, latest: { timestamp: bigint }): void {
  const behind = BigInt(Math.floor(clock.now() / 1000)) - latest.timestamp;
  if (behind > MAX_BEHIND_SECONDS) throw new Refusal('chain_clock', { retryAfterSeconds: 5 });
}
