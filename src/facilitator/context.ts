import type { PrivateKeyAccount } from 'viem/accounts';
import type { Network } from '../contract/vocabulary.ts';
import type { TokenDomain } from '../platform/chain/authorization.ts';
import type { Rpc } from '../platform/chain/rpc.ts';
import type { Clock } from '../platform/clock.ts';
import type { Hex } from '../platform/hex.ts';
import type { Log } from '../platform/log.ts';
import type { GasBudget, Reserved } from './budget/gas-budget.ts';
import type { Limits } from './budget/limits.ts';
import type { PayerTurns } from './budget/payer-turns.ts';
import type { Counts } from './counts.ts';
import type { ReachCrashPoint } from './crash-points.ts';
import type { ChainHead } from './head.ts';
import type { Journal } from './journal/open-journal.ts';
import type { Nonces } from './nonces.ts';
import type { QuoteGas } from './quote-gas.ts';
import type { Verified } from './verified.ts';

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
  turns: PayerTurns;
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
