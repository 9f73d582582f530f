import type { Provider, ProviderHealth, ProvidersHealth } from '../../../platform/chain/providers.ts';
import type { Rpc } from '../../../platform/chain/rpc.ts';
import {
  type CorroborationRequest,
  findObjections,
  judgeFinalized,
  type LeaderView,
  type Objection,
  type Objections,
  objectionsToMined,
  readChainAndLatest,
  readSecondView,
  type SecondView,
} from '../../../platform/chain/second-provider.ts';
import { sameMined } from '../../../platform/chain/sighting.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Hex } from '../../../platform/hex.ts';
import type { Log } from '../../../platform/log.ts';
import type { Market } from '../../context.ts';
import { type ClaimEvidence, claimTermsOf, decideClaim } from '../paths/direct/decide-claim.ts';
import { attemptTermsOf, decide, type Evidence } from '../paths/x402/decide.ts';
import { type Finding, readFindings } from '../paths/x402/read-findings.ts';
import type { DirectPayment, X402Payment } from '../payment.ts';
import type { ChainHead } from './read-head.ts';

/** Confirms the leading provider's evidence with the other providers. */
export interface Corroboration {
  /** Returns the evidence by payment. Evidence that another provider does not confirm loses the parts that could decide a payment. */
  onUses(
    head: ChainHead,
    payments: readonly X402Payment[],
    gathered: Map<bigint, Evidence>,
  ): Promise<Map<bigint, Evidence>>;
  /** Does the same for the transactions that one claim names. */
  onClaim(head: ChainHead, payment: DirectPayment, reading: Map<Hex, ClaimEvidence>): Promise<Map<Hex, ClaimEvidence>>;
  /** Whether no other provider objects to the leader's receipt. For decisions that rest on one transaction. */
  onReceipt(head: ChainHead, payment: { id: bigint; asset: Hex }, evidence: LeaderView): Promise<boolean>;
  withheld: WithheldPayments;
}

type CorroborationMarket = Pick<Market, 'clock' | 'log'>;

/**
 * Checks with every configured provider except the leader before anything final happens (0021). Ignores a provider that has been silent or
 * whose head has not moved for a minute. Calls `onDisagreement` when two providers show different things.
 */
export function createCorroboration(
  market: CorroborationMarket,
  providerHealth: ProvidersHealth,
  onDisagreement: () => Promise<void>,
): Corroboration {
  const withheld = createWithheldPayments(market.clock, market.log);
  const isAlone = providerHealth.all.length === 1;

  async function findObjectedKeys<Key>(question: Question<Key>): Promise<ReadonlySet<Key>> {
    const { objected, isDisputed } = await askAll(providerHealth, withheld, question);
    if (isDisputed) await onDisagreement();
    return objected;
  }
  const objectedClaims = (
    head: ChainHead,
    { id, asset }: { id: bigint; asset: Hex },
    finals: readonly [Hex, LeaderView][],
  ): Promise<ReadonlySet<Hex>> =>
    findObjectedKeys({
      leader: head.rpc,
      about: 'receipts',
      keys: finals.map(([hash]) => hash),
      paymentOf: () => id,
      askOne: (health) => objectionsToMined(health, head, asset, finals),
    });

  return {
    withheld,
    onUses: async (head, payments, gathered) => {
      const finals = isAlone ? [] : findFinalUses(payments, gathered);
      if (finals.length === 0) return gathered;
      const objected = await findObjectedKeys({
        leader: head.rpc,
        about: 'logs',
        keys: finals.map(({ payment }) => payment.id),
        paymentOf: (id) => id,
        askOne: (health) => objectionsToUses(market, health, head, finals),
      });
      return withoutVerdicts(gathered, objected, (evidence) => ({ ...evidence, finalized: null, nonceUsed: null }));
    },
    onClaim: async (head, payment, reading) => {
      const terms = claimTermsOf(payment, null);
      const isFinal = (evidence: ClaimEvidence): boolean => decideClaim(evidence, terms).outcome !== 'unknown';
      const finals = isAlone ? [] : [...reading].filter(([, evidence]) => isFinal(evidence));
      if (finals.length === 0) return reading;
      const objected = await objectedClaims(head, payment, finals);
      return withoutVerdicts(reading, objected, (evidence) => ({ ...evidence, finalized: null }));
    },
    onReceipt: async (head, payment, evidence) => {
      const hash = evidence.receipt?.transactionHash;
      if (isAlone || hash === undefined) return true;
      return (await objectedClaims(head, payment, [[hash, evidence]])).size === 0;
    },
  };
}

interface FinalUse {
  payment: X402Payment;
  evidence: Evidence;
}

/** Returns the payments that this evidence would end now, with their evidence. */
function findFinalUses(payments: readonly X402Payment[], gathered: Map<bigint, Evidence>): FinalUse[] {
  return payments.flatMap((payment) => {
    const evidence = gathered.get(payment.id);
    if (evidence === undefined || decide(evidence, attemptTermsOf(payment, null)).outcome === 'unknown') return [];
    return [{ payment, evidence }];
  });
}

function withoutVerdicts<Key, E>(gathered: Map<Key, E>, objected: ReadonlySet<Key>, stripVerdict: (evidence: E) => E) {
  return new Map([...gathered].map(([key, evidence]) => [key, objected.has(key) ? stripVerdict(evidence) : evidence]));
}

async function objectionsToUses(
  market: CorroborationMarket,
  health: ProviderHealth,
  head: ChainHead,
  finals: readonly FinalUse[],
): Promise<Objections<bigint>> {
  const { provider: rpc } = health;
  const { chainId, latest } = await readChainAndLatest(health);
  if (chainId !== head.chainId) return new Map(finals.map(({ payment }) => [payment.id, 'disagrees']));
  health.noteHead(latest);
  const view = { rpc, latest };
  const said = await readSecondView(
    rpc,
    head,
    latest,
    finals.some(({ evidence }) => evidence.use === null),
  );
  const unfinished = new Set<bigint>();
  const findings = await readFindings(market, view, finals.map(withLeaderBlock), ({ id }) => unfinished.add(id));
  const objections: Objections<bigint> = new Map();
  for (const { payment, evidence } of finals) {
    const finding = findings.get(payment.id);
    const missing = unfinished.has(payment.id) ? 'behind' : 'silent';
    const why = finding === undefined ? missing : objectionToUse(evidence, payment, said, finding);
    if (why !== null) objections.set(payment.id, why);
  }
  return objections;
}

/**
 * Makes a provider that limits blocks per query look first in the block of the leader's use. If it finds no use there, it searches the
 * other blocks.
 */
function withLeaderBlock({ payment, evidence }: FinalUse): X402Payment {
  return { ...payment, blockNumber: evidence.use?.log.blockNumber ?? payment.blockNumber };
}

/** Returns the other provider's objection. Null if both providers show the same use of the authorization, or both show none. Pure. */
export function objectionToUse(
  evidence: Evidence,
  terms: { asset: Hex; validBefore: bigint },
  said: SecondView,
  finding: Finding,
): Objection | null {
  const { use, finalized, latest } = evidence;
  if (use !== null) {
    if (said.latest.number < use.log.blockNumber) return 'behind';
    const otherUse = finding.use?.log;
    const same = otherUse?.transactionHash === use.log.transactionHash && otherUse.logIndex === use.log.logIndex;
    return same && finding.use !== null && sameMined(terms.asset, use, finding.use) ? null : 'disagrees';
  }
  // The leader cannot have seen a use above its own latest block, so the two do not contradict each other.
  if (finding.use !== null) return finding.use.log.blockNumber > latest.number ? 'behind' : 'disagrees';
  if (said.latest.timestamp <= terms.validBefore) return 'behind';
  if (finding.nonceUsed === true) return 'disagrees';
  if (finding.nonceUsed === null) return 'behind';
  return finalized !== null && finalized.timestamp >= terms.validBefore ? judgeFinalized(finalized, said) : null;
}

interface Question<Key> extends CorroborationRequest<Key> {
  /** The leading provider; only the others are asked. */
  leader: Rpc;
  paymentOf(key: Key): bigint;
}

/** Collects the other providers' objections to each key, and records which payments wait for which provider. */
async function askAll<Key>(
  providerHealth: ProvidersHealth,
  withheld: WithheldPayments,
  question: Question<Key>,
): Promise<{ objected: ReadonlySet<Key>; isDisputed: boolean }> {
  const { leader, keys, paymentOf } = question;
  const others = providerHealth.all.filter(({ provider }) => provider !== leader);
  const objected = new Map<Key, { health: ProviderHealth; why: Objection }>();
  await Promise.all(
    others.map(async (health) => {
      for (const [key, why] of await findObjections(providerHealth, health, question))
        objected.set(key, { health, why });
    }),
  );
  for (const [key, { health, why }] of objected) {
    const isNew = withheld.note(paymentOf(key), health.provider, why);
    if (isNew && why === 'disagrees') health.noteDisagreement();
  }
  const waiting = new Set([...objected.keys()].map(paymentOf));
  for (const key of keys) if (!waiting.has(paymentOf(key))) withheld.release(paymentOf(key));
  const isDisputed = [...objected.values()].some(({ why }) => why === 'disagrees');
  return { objected: new Set(objected.keys()), isDisputed };
}

/** If no provider was asked about a payment for this long, another process has ended it. */
const FORGET_AFTER_MS = 300_000;

/** `use_without_transfer` means that all providers agree, but the token behaves in a way that this code does not know. */
type WithheldReason = Objection | 'use_without_transfer';

interface WithheldPayments {
  /** Returns true if the payment was not yet withheld for this reason. `provider` is the one that objects; null if none does. */
  note(paymentId: bigint, provider: Provider | null, why: WithheldReason): boolean;
  release(paymentId: bigint): void;
  counts(): Record<WithheldReason, number>;
}

/** Tracks payments that are withheld because a provider does not confirm them or the token behaves in an unknown way. Logs each new one. */
function createWithheldPayments(clock: Clock, log: Log): WithheldPayments {
  const withheld = new Map<bigint, { why: WithheldReason; seenAt: number }>();
  const forgetOld = (): void => {
    for (const [id, { seenAt }] of withheld) if (clock.now() - seenAt > FORGET_AFTER_MS) withheld.delete(id);
  };
  return {
    note: (paymentId, provider, why) => {
      const isNew = withheld.get(paymentId)?.why !== why;
      withheld.set(paymentId, { why, seenAt: clock.now() });
      if (!isNew) return false;
      forgetOld();
      const fields = { payment_id: paymentId, why, endpoint: provider?.endpoint };
      if (why === 'disagrees' || why === 'use_without_transfer') log.error('payment_blocked', fields);
      else log.warn('payment_blocked', fields);
      return true;
    },
    release: (paymentId) => {
      withheld.delete(paymentId);
    },
    counts: () => {
      forgetOld();
      const counts = { silent: 0, behind: 0, disagrees: 0, use_without_transfer: 0 };
      for (const { why } of withheld.values()) counts[why] += 1;
      return counts;
    },
  };
}
