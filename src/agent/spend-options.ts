import type { Hex } from 'viem';
import { formatUsdc } from '../contract/money.ts';
import { formed, own } from '../contract/own-words.ts';
import type { Client } from '../sdk/client.ts';
import { MarketError } from '../sdk/errors.ts';
import type { Wallet } from '../sdk/payments/payment-proof.ts';
import type { PaymentOptions } from '../sdk/payments/payment-run.ts';
import { AgentError, PolicyRefused } from './agent-error.ts';
import { type Policy, policyChangeHint } from './policy.ts';
import type { HeldSpend, SpendBook } from './spend-book.ts';
import type { SpendRecord } from './spend-record.ts';

/** Bytes of goods on their way: `done` of `bytes` are stored at the other end, or here. */
export type OnBytes = (progress: { way: 'upload' | 'download'; done: number; bytes: number }) => void;

/** Options shared by all payments that a policy governs and a spend book records. */
export interface SpendOptions extends Pick<PaymentOptions, 'onProgress' | 'signal' | 'maxWaitSeconds' | 'payAnew'> {
  client: Client;
  wallet: Wallet;
  policy: Policy;
  book: SpendBook;
  /** Asks a person about sums above `askAboveUnits`. If omitted, such sums are refused. */
  confirm?: (request: { amountUnits: bigint; title: string; seller: string | null }) => Promise<boolean>;
  /** Allows another payment if the market says that the first was never paid. It is judged, reserved and counted again. */
  payAgain?: boolean;
  /** Told of bytes that are uploaded or downloaded. */
  onBytes?: OnBytes;
  /** Prints a notice that doesn't stop the payment. */
  onNotice?: (line: string) => void;
  /** Reads an address's code. Missing without an RPC endpoint. Returns null if the endpoint doesn't answer. */
  readCode?: (address: Hex) => Promise<Hex | null>;
}

/** Whether the caller allows another payment. Only a signed payment that was never paid may be replaced. */
export function mayPayAgain({ payAgain }: Pick<SpendOptions, 'payAgain'>, record: SpendRecord | null): boolean {
  return payAgain === true && record?.state === 'signed';
}

/** Asks a person if the policy says so. Throws `PolicyRefused` if they decline or can't be asked. */
export async function mustBeConfirmed(
  { policy, confirm }: Pick<SpendOptions, 'policy' | 'confirm'>,
  request: { amountUnits: bigint; title: string; seller: string | null },
): Promise<void> {
  if (policy.askAboveUnits === null || request.amountUnits <= policy.askAboveUnits) return;
  if (confirm === undefined)
    throw new PolicyRefused(
      'needs_person',
      own`The policy requires a person’s consent above ${formatUsdc(policy.askAboveUnits)}, and nobody can be asked here`,
      own`Use a terminal or a host that can ask. ${policyChangeHint(policy)}`,
    );
  if (await confirm(request)) return;
  throw new PolicyRefused(
    'not_confirmed',
    own`The person declined to pay ${formatUsdc(request.amountUnits)}`,
    own`Nothing was paid. Don’t buy it, or ask again.`,
  );
}

/** Converts errors after which a signed payment may still be made: faults of this machine, and a market that asks for payment again. */
export function toUnknownOutcome({ record }: HeldSpend, error: unknown): unknown {
  if (record === null || record.state === 'reserved' || error instanceof AgentError) return error;
  if (error instanceof MarketError && error.reason === 'payment_required' && record.state === 'signed')
    return new AgentError('unknown', {
      doNotPayAgain: true,
      reason: 'payment_undecided',
      title: own`The market asks for another payment, but the signed one may still be executed`,
      nextStep: own`Do not pay again. Run the same command later: it sends the same signature and signs nothing new.`,
    });
  const { code, syscall, path } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (code === undefined || syscall === undefined) return error;
  return new AgentError('unknown', {
    doNotPayAgain: true,
    reason: 'not_kept',
    title: own`The payment may have been made, but its result couldn’t be saved on this machine (${formed('code', code)})`,
    nextStep: own`Do not pay again. Free some space or fix the folder, then run the same command to resume.`,
    file: path,
  });
}

/** Runs work after a payment was signed. */
export async function orUnknown<T>(spend: HeldSpend, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toUnknownOutcome(spend, error);
  }
}

export function sdkOptions({ onProgress, signal, maxWaitSeconds }: SpendOptions) {
  return {
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(signal === undefined ? {} : { signal }),
    ...(maxWaitSeconds === undefined ? {} : { maxWaitSeconds }),
  };
}
