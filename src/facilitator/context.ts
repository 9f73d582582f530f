import type { PrivateKeyAccount } from 'viem/accounts';
import type { Network } from '../contract/vocabulary.ts';
import type { Rpc } from '../platform/chain/rpc.ts';
import type { TokenDomain } from '../platform/chain/shapes.ts';
import type { Clock } from '../platform/clock.ts';
import type { Hex } from '../platform/hex.ts';
import type { Log } from '../platform/log.ts';
import type { GasBudget, Limits, Reserved } from './budget/gas-budget.ts';
import type { PayerQueue } from './budget/payer-queue.ts';
import type { ReachCrashPoint } from './crash-points.ts';
import type { ChainHead } from './head.ts';
import type { Journal } from './journal/open-journal.ts';
import type { Nonces } from './nonces.ts';
import type { QuoteGas } from './quote-gas.ts';
import type { PaymentRequest } from './read-request.ts';

export interface Timing {
  /** Every answer of /verify and /settle is out after this long. A market waits eight seconds for it. */
  answerMs: number;
  /** How long a settlement waits for its receipt, counted from its beginning. */
  confirmationMs: number;
  /** At most, between two looks at the head of the chain while a settlement is waited for. */
  receiptPollMs: number;
  /** Between two looks at the transactions that are not mined yet. */
  tendMs: number;
  /** Between two looks whether blocks were taken back, while nothing is in flight. */
  quietMs: number;
  /** A transaction that is not mined after this long is sent again at a higher price. */
  stuckMs: number;
  /** Between two looks at what is final now. */
  finalEveryMs: number;
}

export const TIMING: Timing = {
  answerMs: 5_500,
  confirmationMs: 5_000,
  receiptPollMs: 200,
  tendMs: 2_000,
  quietMs: 60_000,
  stuckMs: 30_000,
  finalEveryMs: 60_000,
};

/** What the parts of a running facilitator share. */
export interface Context {
  network: Network;
  domain: TokenDomain;
  rpc: Rpc;
  account: PrivateKeyAccount;
  /** Of the account, lower case. */
  address: Hex;
  journal: Journal;
  /** What is being signed and written, and counts as in flight. */
  signing: Set<Reserved>;
  head: ChainHead;
  nonces: Nonces;
  quoteGas: QuoteGas;
  verified: Verified;
  limits: Limits;
  budget: GasBudget;
  payerQueue: PayerQueue;
  /** What one ether is worth, in millionths of a USDC. */
  etherUnits: bigint;
  counts: Counts;
  clock: Clock;
  log: Log;
  timing: Timing;
  crashPoint: ReachCrashPoint;
}

export function domainOf(network: Network): TokenDomain {
  const { domainName, domainVersion, chainId, usdc } = network;
  return { name: domainName, version: domainVersion, chainId, verifyingContract: usdc };
}

/** What has happened since the start, for the metrics. */
interface Counts {
  ended: Map<string, number>;
  causes: Map<string, number>;
  deferred: Map<string, number>;
  cooldowns: number;
  gasUsed: bigint;
  gasPaidUnits: bigint;
  replacements: number;
  fills: number;
  resent: number;
}

export function createCounts(): Counts {
  return {
    ended: new Map(),
    causes: new Map(),
    deferred: new Map(),
    cooldowns: 0,
    gasUsed: 0n,
    gasPaidUnits: 0n,
    replacements: 0,
    fills: 0,
    resent: 0,
  };
}

export function countOne(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1);
}

export interface CheckedSignature {
  isValid: boolean;
  /** Whether the payer is a contract, and when that was read. */
  hasCode: boolean;
  readAt: number;
}

/** What /verify found out about a payment a moment ago, so that /settle does not ask again. */
interface Verified {
  note(request: PaymentRequest, signed: CheckedSignature): void;
  /** Once: null where nothing was noted, or too long ago. */
  take(request: PaymentRequest): CheckedSignature | null;
}

/** An account may come by code meanwhile, as it may while its settlement is in flight. */
export const CODE_KEPT_MS = 5_000;
const MOST_VERIFIED = 4_000;

/** Only wallets without code: whether a contract still agrees is asked each time. */
export function createVerified(clock: Clock): Verified {
  const noted = new Map<string, CheckedSignature>();
  return {
    note: (request, signed) => {
      if (signed.hasCode || !signed.isValid) return;
      const [oldest] = noted.keys();
      if (noted.size >= MOST_VERIFIED && oldest !== undefined) noted.delete(oldest);
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
