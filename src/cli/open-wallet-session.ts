import { type OwnWallet, openWallet, readWalletAddress, type WalletSource } from '../agent/open-wallet.ts';
import { readPolicy } from '../agent/policy.ts';
import { codeReader } from '../agent/read-chain.ts';
import { OF_OWN_GOODS } from '../agent/refused-payment.ts';
import { openSpendBook, type SpendBook } from '../agent/spend-book.ts';
import type { SpendOptions } from '../agent/spend-options.ts';
import { inMarks } from '../contract/foreign-words.ts';
import { sayUsdc } from '../contract/money.ts';
import { formed, joined, type OwnWords, ofSource, own } from '../contract/own-words.ts';
import { systemEnvironment } from '../sdk/environment.ts';
import { MarketError, rowOf } from '../sdk/errors.ts';
import { PaymentMayBeLost, TermsRefused } from '../sdk/payments/payment-errors.ts';
import type { Wallet } from '../sdk/payments/payment-proof.ts';
import type { Progress } from '../sdk/payments/payment-run.ts';
import type { Cli } from './cli.ts';
import { CliError, toCliError } from './cli-error.ts';
import { hideSecrets } from './printable.ts';

/** What a command pays with, under which limits, and how it tells of it. */
export type WalletSession = Omit<SpendOptions, 'client'>;

export async function openWalletSession(cli: Cli): Promise<WalletSession> {
  const { env, options, terminal } = cli;
  const policy = await readPolicy(env);
  const wallet = await openOwnWallet(cli);
  return {
    wallet,
    policy,
    book: bookOf(cli, wallet.address),
    onProgress: progressNotes(cli),
    onNotice: cli.note,
    signal: cli.interruption(),
    payAgain: options['pay-again'] === true,
    payAnew: options['pay-anew'] === true,
    ...codeReader(options.rpc ?? env['OPENAISLE_RPC']),
    ...(terminal.canAsk ? { confirm: confirmOn(cli) } : {}),
  };
}

/** Asks the person at the terminal. What others wrote stands in marks, and cannot close them or steer the terminal. */
function confirmOn({ terminal }: Cli): NonNullable<SpendOptions['confirm']> {
  return async ({ amountUnits, title, seller }) => {
    const whom = seller === null ? '' : ` to ${inMarks(seller)}`;
    const question = `Pay ${sayUsdc(amountUnits)}${whom} for ${inMarks(title)}? (yes/no)`;
    const answer = await terminal.ask(hideSecrets(question));
    return answer.toLowerCase() === 'yes';
  };
}

/** The book alone, for looking: a wallet whose file tells its address stays closed. */
export async function openBook(cli: Cli): Promise<SpendBook> {
  return bookOf(cli, await walletAddress(cli));
}

export function bookOf({ env, now }: Pick<Cli, 'env' | 'now'>, address: `0x${string}`): SpendBook {
  return openSpendBook({ env, address, environment: { now, deadline: systemEnvironment.deadline } });
}

/** The wallet that signs: of an encrypted one the passphrase is asked for. */
export function openOwnWallet(cli: Cli): Promise<OwnWallet> {
  return openWallet(walletSource(cli));
}

/** The address that pays, without a passphrase where that is possible. */
export function walletAddress(cli: Cli): Promise<`0x${string}`> {
  return readWalletAddress(walletSource(cli));
}

function walletSource({ options, env, terminal }: Cli): WalletSource {
  return {
    file: options.wallet,
    env,
    ...(terminal.canAsk ? { passphrase: () => terminal.askUnseen('Passphrase of the wallet:') } : {}),
  };
}

/** Why a payment did not come about, where only the payer knows what to do next. `again` names what is run again. */
export function notPaid(error: unknown, { address }: Pick<Wallet, 'address'>, again = own`the same command`): CliError {
  if (error instanceof PaymentMayBeLost) {
    const found = error.txHash === null ? own`it names` : formed('hash', error.txHash);
    return toCliError(error, {
      nextStep: own`See what transaction ${found} paid for. If not this: ${again} with --pay-anew`,
    });
  }
  if (isOfOwnGoods(error)) return toCliError(error, { nextStep: OF_OWN_GOODS });
  if (!(error instanceof MarketError)) return toCliError(error);
  // Of a command that pays: money has moved, or may move.
  if (error.doNotPayAgain === true) return new CliError('unknown', toCliError(error).parts);
  const nextSteps: Readonly<Record<string, OwnWords>> = {
    insufficient_funds: own`Nothing was paid. Send USDC to ${formed('address', address)} on the market’s network, then run ${again} again; after ten minutes with --pay-again, since the signature runs out.`,
    authorization_lapsed: own`Nothing was paid. To pay after all, run ${again} with --pay-again`,
    // A signature that never opened a payment ends like this, too, when its ten minutes are over. Where another signature would not
    // help the book knows it, and says so.
    payment_invalid: own`Nothing was paid. What was signed ran out, or is not taken: once it has run out, run ${again} with --pay-again`,
  };
  return toCliError(error, { nextStep: nextSteps[error.reason] });
}

function isOfOwnGoods(error: unknown): boolean {
  if (error instanceof TermsRefused) return error.why === 'own_goods';
  return error instanceof MarketError && error.reason === 'own_goods';
}

/** Notes for a person who waits: one whenever there is something new to say. */
export function progressNotes({ note }: Pick<Cli, 'note'>): (progress: Progress) => void {
  let last: string | null = null;
  return (progress) => {
    const line = progressLine(progress);
    if (line === null || line === last) return;
    last = line;
    note(line);
  };
}

/** How far a payment is: the blocks that its finality still takes where the market tells, and the time. Null: nothing to say. */
export function progressLine({ phase, payment, reason, estimateSeconds }: Progress): OwnWords | null {
  if (phase === 'signed') return own`signed, and the proof is kept: whatever stops this, the same command goes on`;
  if (phase === 'collecting') return own`signing to show who asks; no money moves`;
  if (phase === 'delivered') return null;
  // One that this version does not know may be any words.
  const why = reason === undefined || rowOf(reason) === undefined ? own`` : own` (${ofSource(reason)})`;
  if (phase === 'submitted') return own`handed in; no transfer is seen yet${why}`;
  const { block_number: block = null, finalized_head: head = null } = payment ?? {};
  const left = [
    ...(block === null || head === null ? [] : [blocksToGo(Math.max(0, block - head))]),
    ...(estimateSeconds === undefined ? [] : [own`about ${sayDuration(estimateSeconds)}`]),
  ];
  return own`the transfer is seen; waiting until it is final${left.length === 0 ? own`` : own`: ${joined(left)}`}${why}`;
}

function sayDuration(seconds: number): OwnWords {
  return seconds < 90 ? own`${Math.max(1, Math.round(seconds))} s` : own`${Math.round(seconds / 60)} min`;
}

function blocksToGo(blocks: number): OwnWords {
  return blocks === 1 ? own`1 block to go` : own`${blocks} blocks to go`;
}
