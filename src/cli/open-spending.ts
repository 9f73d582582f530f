import type { SpendOptions } from '../agent/buy-goods.ts';
import { openWallet, readWalletAddress } from '../agent/open-wallet.ts';
import { type Policy, readPolicy } from '../agent/policy.ts';
import { openSpendBook, type SpendBook } from '../agent/spend-book.ts';
import { sayUsdc, unitsOfUsdc } from '../contract/money.ts';
import type { Progress } from '../sdk/payments/payment-run.ts';
import type { Cli } from './cli.ts';
import { wrongUse } from './cli-error.ts';
import { hideSecrets, oneLine } from './printable.ts';

/** What every command needs that pays. */
export async function openSpending(cli: Cli): Promise<Omit<SpendOptions, 'client'>> {
  const { env, options, terminal } = cli;
  const policy = await readPolicy(env);
  const passphrase = terminal.canAsk ? () => terminal.askUnseen('Passphrase of the wallet:') : undefined;
  const wallet = await openWallet({ file: options.wallet, env, passphrase });
  return {
    wallet,
    policy,
    book: openSpendBook({ env, address: wallet.address }),
    onProgress: progressNotes(cli),
    signal: cli.interruption(),
    payAgain: options['pay-again'] === true,
    payAnew: options['pay-anew'] === true,
    ...(terminal.canAsk ? { confirm: confirmOn(cli) } : {}),
  };
}

/** The book alone, for looking: a wallet that tells its address stays closed. */
export async function openBook(cli: Cli): Promise<SpendBook> {
  const { env, options, terminal } = cli;
  const passphrase = terminal.canAsk ? () => terminal.askUnseen('Passphrase of the wallet:') : undefined;
  return openSpendBook({ env, address: await readWalletAddress({ file: options.wallet, env, passphrase }) });
}

function confirmOn({ terminal }: Cli): NonNullable<SpendOptions['confirm']> {
  return async ({ amountUnits, title, seller }) => {
    const whom = seller === null ? '' : ` to ${seller}`;
    const about = hideSecrets(oneLine(title));
    const answer = await terminal.ask(`Pay ${sayUsdc(amountUnits)}${whom} for “${about}”? [y/N]`);
    return /^y(?:es)?$/i.test(answer);
  };
}

/** Lines for a person who waits: one whenever there is something new to say. */
export function progressNotes({ note }: Pick<Cli, 'note'>): (progress: Progress) => void {
  let last = '';
  return (progress) => {
    const line = sayProgress(progress);
    if (line === null || line === last) return;
    last = line;
    note(line);
  };
}

/** What to say of a step; null: nothing. */
export function sayProgress({ phase, payment, reason, estimateSeconds }: Progress): string | null {
  if (phase === 'signed') return 'signed, and the proof is kept: whatever stops this, the same command goes on';
  if (phase === 'collecting') return 'signing to show who asks; no money moves';
  if (phase === 'delivered') return null;
  const why = reason === undefined ? '' : ` (${reason})`;
  if (phase === 'submitted') return `handed in; no transfer is seen yet${why}`;
  const { block_number: block = null, finalized_head: head = null } = payment ?? {};
  const blocks = block === null || head === null ? null : Math.max(0, block - head);
  const left = [
    ...(blocks === null ? [] : [`${blocks} blocks to go`]),
    ...(estimateSeconds === undefined ? [] : [`about ${sayDuration(estimateSeconds)}`]),
  ];
  return `the transfer is seen; waiting until it is final${left.length === 0 ? '' : `: ${left.join(', ')}`}${why}`;
}

function sayDuration(seconds: number): string {
  return seconds < 90 ? `${Math.max(1, Math.round(seconds))} s` : `${Math.round(seconds / 60)} min`;
}

/** A number of USDC from the command line. */
export function readUsdc(given: string, option: string): number {
  const amount = /^\d{1,9}(?:\.\d{1,6})?$/.test(given) ? Number(given) : Number.NaN;
  if (unitsOfUsdc(amount) !== null) return amount;
  throw wrongUse(`${option} takes USDC with at most 6 decimals: 2.5`);
}

/** The number of a listing from the command line. */
export function readListingId(given: string): number {
  if (/^[1-9]\d{0,14}$/.test(given)) return Number(given);
  throw wrongUse('A listing is named by its number');
}

/** For --json: what the policy leaves of today. */
export async function spentOf(book: SpendBook, policy: Policy) {
  const spent = await book.spentToday();
  return { spent_today_usdc: Number(spent) / 1_000_000, per_day_usdc: Number(policy.perDayUnits) / 1_000_000 };
}
