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

export const TIMING = {
  /** Deadline for every answer of /verify and /settle. The market gives up after eight seconds. */
  answerMs: 5_500,
  /** How long a settlement waits for its receipt, counted from its start. */
  confirmationMs: 5_000,
  /** Longest pause between two polls of the chain head while a settlement is waiting. */
  receiptPollMs: 200,
  /** Pause between two checks of transactions that are not mined yet. */
  tendMs: 2_000,
  /** Pause between two checks for a reorganisation while nothing is in flight. */
  quietMs: 60_000,
  /** A transaction that is not mined after this time is sent again at a higher price. */
  stuckMs: 30_000,
  /** Pause between two reads of the finalized head. */
  finalEveryMs: 60_000,
};
export type Timing = typeof TIMING;

export interface Context {
  network: Network;
  domain: TokenDomain;
  rpc: Rpc;
  account: PrivateKeyAccount;
  /** Address of the account that pays for gas, in lower case. */
  address: Hex;
  journal: Journal;
  /** Reserves of settlements that are being signed and written. They count as in flight. */
  signing: Set<Reserved>;
  head: ChainHead;
  nonces: Nonces;
  quoteGas: QuoteGas;
  verified: Verified;
  limits: Limits;
  budget: GasBudget;
  payerQueue: PayerQueue;
  /** Value of one ether in millionths of a USDC. */
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

type Counts = ReturnType<typeof createCounts>;

export function createCounts() {
  return {
    ended: new Map<string, number>(),
    causes: new Map<string, number>(),
    deferred: new Map<string, number>(),
    cooldowns: 0,
    gasUsed: 0n,
    gasPaidUnits: 0n,
    replacements: 0,
    fills: 0,
    resent: 0,
  };
}

export function incrementCount(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

export interface CheckedSignature {
  isValid: boolean;
  /** Whether the payer was a contract at `readAt`. */
  hasCode: boolean;
  readAt: number;
}

/** Signatures that /verify checked a moment ago, so that /settle need not check them again. */
interface Verified {
  note(request: PaymentRequest, signed: CheckedSignature): void;
  /** Removes and returns the result. Null if there is none or it is too old. */
  take(request: PaymentRequest): CheckedSignature | null;
}

/** Time for which a result may be used. The account may get code after the check, but just as well during the settlement. */
export const CODE_CACHED_MS = 5_000;
const MAX_VERIFIED = 4_000;

/** Keeps only valid signatures of wallets without code. A contract must be asked each time, because it may stop accepting a signature. */
export function createVerifiedCache(clock: Clock): Verified {
  const noted = new Map<string, CheckedSignature>();
  return {
    note: (request, signed) => {
      if (signed.hasCode || !signed.isValid) return;
      const [oldest] = noted.keys();
      if (noted.size >= MAX_VERIFIED && oldest !== undefined) noted.delete(oldest);
      noted.set(keyOfRequest(request), signed);
    },
    take: (request) => {
      const key = keyOfRequest(request);
      const signed = noted.get(key) ?? null;
      noted.delete(key);
      return signed !== null && signed.readAt + CODE_CACHED_MS > clock.now() ? signed : null;
    },
  };
}

/** Identifies one authorization with one signature. */
export function keyOfRequest({ authorization, signature }: PaymentRequest): string {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  return [from, nonce, to, value, validAfter, validBefore, signature].join(' ');
}
