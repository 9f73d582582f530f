import { createSingleFlight, type SingleFlight } from '../../platform/background-jobs.ts';
import { RpcFailure } from '../../platform/chain/rpc.ts';
import type { Market } from '../context.ts';
import type { FollowedHead } from './chain/read-head.ts';
import type { ReadSchedule } from './chain/read-schedule.ts';
import type { UnreadablePayments } from './chain/unreadable-payments.ts';
import type { PathContext } from './paths/payment-path.ts';
import { pathOf } from './paths/payment-paths.ts';
import { isOpen, type Payment } from './payment.ts';
import { findPayment } from './store.ts';

/** A reading shared by all requests for one payment. Its result is null if it showed nothing new. */
interface SharedReading {
  newest: Payment;
  users: number;
  singleFlight: SingleFlight<Payment | null>;
}

interface DeciderDependencies {
  readHead(): Promise<FollowedHead>;
  isFarFromFinal: ReadSchedule['isFarFromFinal'];
  noteReading: UnreadablePayments['note'];
}

export function createDecider(context: PathContext, { readHead, isFarFromFinal, noteReading }: DeciderDependencies) {
  const sharedReadings = new Map<bigint, SharedReading>();
  const reader = createPaymentReader({ context, readHead, noteReading });

  async function decide({ payment, evidence }: PaymentEvidence): Promise<Payment> {
    return await pathOf(payment).decide(context, payment, evidence as never);
  }
  async function readAndDecideOne(payment: Payment): Promise<Payment | null> {
    const shown = await reader.readOne(payment);
    return shown === undefined ? null : await decide(shown);
  }
  function startSharing(payment: Payment): SharedReading {
    const started: SharedReading = {
      newest: payment,
      users: 0,
      singleFlight: createSingleFlight(() => readAndDecideOne(started.newest)),
    };
    return started;
  }

  return {
    /**
     * Reads the chain about one open payment and decides what it can. Changes nothing if the chain cannot be read. Skips a payment that is
     * still some seconds from final; the background job notices a reorganisation.
     */
    async readAndDecide(payment: Payment): Promise<Payment> {
      if (!isOpen(payment) || (await isFarFromFinal(payment))) return payment;
      const shared = sharedReadings.get(payment.id) ?? startSharing(payment);
      sharedReadings.set(payment.id, shared);
      if (payment.updatedAt > shared.newest.updatedAt) shared.newest = payment;
      shared.users += 1;
      try {
        const current = await shared.singleFlight.fresh();
        if (current !== null && current.status !== 'verifying') return current;
        // Another request may have ended or submitted the payment meanwhile. Reread it, or we might wrongly report that no money was taken.
        return (await findPayment(context.market.database, payment.id)) ?? payment;
      } finally {
        shared.users -= 1;
        if (shared.users === 0) sharedReadings.delete(payment.id);
      }
    },
    /** Reads further transactions of a decided claim. Changes nothing if the chain cannot be read. */
    async readSurplus(claim: Payment): Promise<void> {
      await readAndDecideOne(claim);
    },
    /** Reads the chain about many payments and decides them. Reads what they share only once. */
    async readAndDecideMany(payments: readonly Payment[], head: FollowedHead): Promise<void> {
      for (const shown of (await reader.readMany(payments, head)).values()) {
        try {
          await decide(shown);
        } catch (error) {
          // A payment that fails to end must not hold up the others; the next round tries it again.
          context.market.log.error('payment_end_failed', { payment_id: shown.payment.id, error });
        }
      }
    },
  };
}

interface PaymentEvidence {
  payment: Payment;
  evidence: unknown;
  seenIn: readonly (bigint | null)[];
}

interface PaymentReader {
  /** Reads one payment; concurrent callers share a reading. Returns undefined if the payment cannot be read or has not changed. */
  readOne(payment: Payment): Promise<PaymentEvidence | undefined>;
  /** Returns results by payment, without those that cannot be read or have not changed. */
  readMany(payments: readonly Payment[], head: FollowedHead): Promise<Map<bigint, PaymentEvidence>>;
}

interface ReaderDependencies extends Pick<DeciderDependencies, 'readHead' | 'noteReading'> {
  context: PathContext;
}

/** Limits the readings for live requests: under load, more payments share each reading, and the provider is asked no more often. */
const READING_EVERY_MS = 25;
const READINGS_AT_ONCE = 4;

/** Reads what the chain shows about payments. Heads and logs cost the same for one payment as for a hundred. */
function createPaymentReader({ context, readHead, noteReading }: ReaderDependencies): PaymentReader {
  const { market } = context;
  const waiting = new Map<bigint, Payment>();
  const memory = createMemory();
  const pace = { clock: market.clock, everyMs: READING_EVERY_MS, atOnce: READINGS_AT_ONCE };
  const readings = createSingleFlight(async () => {
    const payments = [...waiting.values()];
    waiting.clear();
    const head = await orNullIfUnreadable(market, readHead);
    return head === null ? new Map<bigint, PaymentEvidence>() : await readMany(payments, head);
  }, pace);

  async function readMany(payments: readonly Payment[], head: FollowedHead): Promise<Map<bigint, PaymentEvidence>> {
    market.crashPoint('after_head_read');
    const assets = [...Map.groupBy(payments, ({ asset }) => asset).values()];
    const shown = (await Promise.all(assets.map((ofOne) => readOfAsset(ofOne, head)))).flat();
    if (shown.length > 0) market.crashPoint('after_evidence_gathered');
    for (const one of shown) memory.note(one, head);
    return new Map(shown.map((one) => [one.payment.id, one]));
  }

  async function readOfAsset(payments: readonly Payment[], head: FollowedHead): Promise<PaymentEvidence[]> {
    const unchanged = new Set<bigint>();
    const isUnchanged = (payment: Payment, seenIn: readonly (bigint | null)[]): boolean => {
      const isSame = memory.isUnchanged(payment, seenIn, head);
      if (isSame) unchanged.add(payment.id);
      return isSame;
    };
    // Skip payments on a chain that this market used before, because only a market on that chain may decide them.
    const onThisChain = payments.filter(({ chainId }) => chainId === market.config.network.chainId);
    const byPath = [...Map.groupBy(onThisChain, ({ path }) => path).values()];
    const readOfPath = async (some: readonly [Payment, ...Payment[]]): Promise<PaymentEvidence[]> => {
      const path = pathOf(some[0]);
      const evidences = await orNullIfUnreadable(market, () => path.evidence(context, { head, isUnchanged }, some));
      const read = some.filter(({ id }) => !unchanged.has(id));
      noteReading({ rpc: head.rpc, path: some[0].path, about: path.question, payments: read, shown: evidences });
      return some.flatMap((payment) => {
        const evidence = evidences?.get(payment.id);
        return evidence === undefined ? [] : [{ payment, evidence, seenIn: path.seenIn(evidence as never) }];
      });
    };
    return (await Promise.all(byPath.map((some) => readOfPath(some as [Payment, ...Payment[]])))).flat();
  }

  return {
    readMany,
    readOne: async (payment) => {
      waiting.set(payment.id, payment);
      return (await readings.fresh()).get(payment.id);
    },
  };
}

const REMEMBERED = 20_000;

/**
 * Remembers what this process has read about open payments. A payment that waits for finality is not read again while no block up to that
 * reading was replaced, because nothing can have changed. Once its block is final, it is read again.
 */
function createMemory() {
  const read = new Map<bigint, { reorgCount: number; upTo: bigint; seenIn: string }>();
  const spellBlocks = (seenIn: readonly (bigint | null)[]): string => seenIn.join(' ');
  return {
    note: (shown: PaymentEvidence, { reorgCount, latest }: FollowedHead): void => {
      if (read.size >= REMEMBERED) read.clear();
      read.set(shown.payment.id, { reorgCount, upTo: latest.number, seenIn: spellBlocks(shown.seenIn) });
    },
    isUnchanged: ({ id }: Payment, seenIn: readonly (bigint | null)[], head: FollowedHead): boolean => {
      const before = read.get(id);
      if (before?.reorgCount !== head.reorgCount || before.seenIn !== spellBlocks(seenIn)) return false;
      const { finalized } = head;
      return seenIn.every(
        (block) => block !== null && block <= before.upTo && (finalized === null || block > finalized.number),
      );
    },
  };
}

async function orNullIfUnreadable<T>(market: Market, read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    market.log.warn('chain_unreadable', { error });
    return null;
  }
}
