import type { Objections } from '../../../platform/chain/hear-provider.ts';
import type { Shown } from '../../../platform/chain/judge-mined.ts';
import { objectToMined, openView, whatItSays } from '../../../platform/chain/object-to-mined.ts';
import type { ProviderHealth, ProvidersHealth } from '../../../platform/chain/provider-health.ts';
import type { Hex } from '../../../platform/hex.ts';
import type { Market } from '../../context.ts';
import type { ChainHead } from '../head/read-head.ts';
import { type ClaimEvidence, claimTermsOf, decideClaim } from '../paths/direct/decide-claim.ts';
import { attemptTermsOf, decide, type Evidence } from '../paths/x402/decide.ts';
import { readFindings } from '../paths/x402/read-findings.ts';
import type { DirectPayment, X402Payment } from '../payment.ts';
import { askAll, type Question } from './ask-all.ts';
import { createHeldPayments, type HeldPayments } from './held-payments.ts';
import { judgeUse } from './judge-evidence.ts';

/** Evidence of the leading provider, as far as the others bear it out. */
export interface Corroboration {
  /** By payment; what is not borne out comes back as evidence that decides nothing. */
  onUses(
    head: ChainHead,
    payments: readonly X402Payment[],
    gathered: Map<bigint, Evidence>,
  ): Promise<Map<bigint, Evidence>>;
  /** The same for the transactions that one claim names. */
  onClaim(head: ChainHead, payment: DirectPayment, reading: Map<Hex, ClaimEvidence>): Promise<Map<Hex, ClaimEvidence>>;
  /** Whether the others show a receipt as the leader does: for what is decided on one transaction alone. */
  onReceipt(head: ChainHead, payment: { id: bigint; asset: Hex }, evidence: Shown): Promise<boolean>;
  held: HeldPayments;
}

type Needs = Pick<Market, 'clock' | 'log'>;

/**
 * Every configured provider but the leader is asked before anything final is done (0021). One that has been silent or has stood still for
 * a minute has no say. `onDisagreement` is called where two show different things.
 */
export function createCorroboration(
  market: Needs,
  providerHealth: ProvidersHealth,
  onDisagreement: () => Promise<void>,
): Corroboration {
  const held = createHeldPayments(market.clock, market.log);
  const isAlone = providerHealth.all.length === 1;

  async function objectedBy<Key>(question: Question<Key>): Promise<ReadonlySet<Key>> {
    const { objected, isDisputed } = await askAll(providerHealth, held, question);
    if (isDisputed) await onDisagreement();
    return objected;
  }
  const objectedClaims = (
    head: ChainHead,
    { id, asset }: { id: bigint; asset: Hex },
    finals: readonly [Hex, Shown][],
  ): Promise<ReadonlySet<Hex>> =>
    objectedBy({
      leader: head.rpc,
      keys: finals.map(([hash]) => hash),
      paymentOf: () => id,
      askOne: (health) => objectToMined(health, head, asset, finals),
    });

  return {
    held,
    onUses: async (head, payments, gathered) => {
      const finals = isAlone ? [] : finalUses(payments, gathered);
      if (finals.length === 0) return gathered;
      const objected = await objectedBy({
        leader: head.rpc,
        keys: finals.map(({ payment }) => payment.id),
        paymentOf: (id) => id,
        askOne: (health) => objectToUses(market, health, head, finals),
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

/** Those that would end now. */
function finalUses(payments: readonly X402Payment[], gathered: Map<bigint, Evidence>): FinalUse[] {
  return payments.flatMap((payment) => {
    const evidence = gathered.get(payment.id);
    if (evidence === undefined || decide(evidence, attemptTermsOf(payment, null)).outcome === 'unknown') return [];
    return [{ payment, evidence }];
  });
}

function withoutVerdicts<Key, E>(gathered: Map<Key, E>, objected: ReadonlySet<Key>, blind: (evidence: E) => E) {
  return new Map([...gathered].map(([key, evidence]) => [key, objected.has(key) ? blind(evidence) : evidence]));
}

async function objectToUses(
  market: Needs,
  health: ProviderHealth,
  head: ChainHead,
  finals: readonly FinalUse[],
): Promise<Objections<bigint>> {
  const { provider: rpc } = health;
  const { chainId, latest } = await openView(health);
  if (chainId !== head.chainId) return new Map(finals.map(({ payment }) => [payment.id, 'disagrees']));
  health.noteHead(latest);
  const view = { rpc, latest };
  const said = await whatItSays(
    rpc,
    head,
    latest,
    finals.some(({ evidence }) => evidence.use === null),
  );
  const payments = finals.map(({ payment }) => payment);
  const findings = await readFindings(market, view, payments);
  const objections: Objections<bigint> = new Map();
  for (const { payment, evidence } of finals) {
    const finding = findings.get(payment.id);
    const why = finding === undefined ? 'silent' : judgeUse(evidence, payment, said, finding);
    if (why !== null) objections.set(payment.id, why);
  }
  return objections;
}
