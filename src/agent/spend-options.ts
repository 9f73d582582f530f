import type { Hex } from 'viem';
import { sayUsdc } from '../contract/money.ts';
import { formed, own } from '../contract/own-words.ts';
import type { Client } from '../sdk/client.ts';
import { MarketError } from '../sdk/errors.ts';
import type { Wallet } from '../sdk/payments/payment-proof.ts';
import type { PaymentOptions } from '../sdk/payments/payment-run.ts';
import { AgentError, PolicyRefused } from './agent-error.ts';
import { howToChange, type Policy } from './policy.ts';
import type { HeldSpend, SpendBook } from './spend-book.ts';
import type { SpendRecord } from './spend-record.ts';

/** How a payment is made under a policy and into a book, whatever it pays for. */
export interface SpendOptions extends Pick<PaymentOptions, 'onProgress' | 'signal' | 'maxWaitSeconds' | 'payAnew'> {
  client: Client;
  wallet: Wallet;
  policy: Policy;
  book: SpendBook;
  /** Asks a person, where the sum is above `askAboveUnits`. Without it such a sum is refused. */
  confirm?: (asked: { amountUnits: bigint; title: string; seller: string | null }) => Promise<boolean>;
  /** Allows one more payment where the market says that the first ended unpaid. It is judged, reserved and counted again. */
  payAgain?: boolean;
  /** Takes a line for the owner, of something that did not stop the payment. */
  onNotice?: (line: string) => void;
  /** Reads the code at an address where a node of the chain is known; null where that gives no answer. */
  readCode?: (address: Hex) => Promise<Hex | null>;
}

/** Another payment may take the place of one that was signed for and ended unpaid; nothing else is paid for twice. */
export function mayPayAgain({ payAgain }: Pick<SpendOptions, 'payAgain'>, record: SpendRecord | null): boolean {
  return payAgain === true && record?.state === 'signed';
}

/** Asks where the policy says so. Throws `PolicyRefused` when the person says no, or cannot be asked. */
export async function mustBeConfirmed(
  { policy, confirm }: Pick<SpendOptions, 'policy' | 'confirm'>,
  asked: { amountUnits: bigint; title: string; seller: string | null },
): Promise<void> {
  if (policy.askAboveUnits === null || asked.amountUnits <= policy.askAboveUnits) return;
  const limit = own`above ${sayUsdc(policy.askAboveUnits)} a person has to agree`;
  if (confirm === undefined)
    throw new PolicyRefused(
      'needs_person',
      own`The policy says that ${limit}, and none can be asked here`,
      howToChange(policy),
    );
  if (await confirm(asked)) return;
  throw new PolicyRefused(
    'not_confirmed',
    own`The person who was asked did not agree to ${sayUsdc(asked.amountUnits)}`,
    own`Leave it, or ask again.`,
  );
}

/** After a signature neither a fault of this machine nor a market that asks once more means that nothing was done. */
export function unknownOnceSigned({ record }: HeldSpend, error: unknown): unknown {
  if (record === null || record.state === 'reserved' || error instanceof AgentError) return error;
  if (error instanceof MarketError && error.reason === 'payment_required' && record.state === 'signed')
    return new AgentError('unknown', {
      doNotPayAgain: true,
      reason: 'payment_undecided',
      title: own`The market asks for a payment once more, though one is signed for this and may still be carried out`,
      nextStep: own`Do not pay again. Run the same command later: it shows the same signature, and signs nothing new.`,
    });
  const { code, syscall, path } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (code === undefined || syscall === undefined) return error;
  return new AgentError('unknown', {
    doNotPayAgain: true,
    reason: 'not_kept',
    title: own`It may be paid for, and could not be written on this machine (${formed('code', code)})`,
    nextStep: own`Do not pay again. Make room, or mend the folder, then run the same command: it goes on with the same payment.`,
    file: path,
  });
}

/** Options that go to the SDK as they are. */
export function passedOn({ onProgress, signal, maxWaitSeconds }: SpendOptions) {
  return {
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(signal === undefined ? {} : { signal }),
    ...(maxWaitSeconds === undefined ? {} : { maxWaitSeconds }),
  };
}
