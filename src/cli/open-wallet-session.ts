import { type OwnWallet, openWallet, readWalletAddress, type WalletSource } from '../agent/open-wallet.ts';
import { readPolicy } from '../agent/policy.ts';
import { codeReader } from '../agent/read-chain.ts';
import { OWN_GOODS_NEXT_STEP } from '../agent/refused-payment.ts';
import { openSpendBook, type SpendBook } from '../agent/spend-book.ts';
import type { SpendOptions } from '../agent/spend-options.ts';
import { inQuotes } from '../contract/foreign-words.ts';
import { formatUsdc } from '../contract/money.ts';
import { formed, joined, type OwnWords, ofSource, own } from '../contract/own-words.ts';
import { systemEnvironment } from '../sdk/environment.ts';
import { MarketError, rowOf } from '../sdk/errors.ts';
import { PaymentMayBeLost, TermsRefused } from '../sdk/payments/payment-errors.ts';
import type { Wallet } from '../sdk/payments/payment-proof.ts';
import type { Progress } from '../sdk/payments/payment-run.ts';
import { byteNotes } from './byte-notes.ts';
import type { Cli } from './cli.ts';
import { CliError, toCliError } from './cli-error.ts';
import { hideSecrets } from './printable.ts';

/** Everything that a command needs to pay: wallet, limits, spend book and progress output. */
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
    onBytes: byteNotes(cli),
    onNotice: cli.note,
    signal: cli.interruption(),
    payAgain: options['pay-again'] === true,
    payAnew: options['pay-anew'] === true,
    ...codeReader(options.rpc ?? env['OPENAISLE_RPC']),
    ...(terminal.canAsk ? { confirm: confirmOn(cli) } : {}),
  };
}

/** Asks the person at the terminal. Sellers' texts are quoted and can't end the quotes or control the terminal. */
function confirmOn({ terminal }: Cli): NonNullable<SpendOptions['confirm']> {
  return async ({ amountUnits, title, seller }) => {
    const recipient = seller === null ? '' : ` to ${inQuotes(seller)}`;
    const question = `Pay ${formatUsdc(amountUnits)}${recipient} for ${inQuotes(title)}? (yes/no)`;
    const answer = await terminal.ask(hideSecrets(question));
    return answer.toLowerCase() === 'yes';
  };
}

/** Opens the spend book for reading, without unlocking a wallet file that states its address. */
export async function openBook(cli: Cli): Promise<SpendBook> {
  return bookOf(cli, await walletAddress(cli));
}

export function bookOf({ env, now }: Pick<Cli, 'env' | 'now'>, address: `0x${string}`): SpendBook {
  return openSpendBook({ env, address, environment: { now, deadline: systemEnvironment.deadline } });
}

/** Opens the wallet for signing, asking for the passphrase if it is encrypted. */
export function openOwnWallet(cli: Cli): Promise<OwnWallet> {
  return openWallet(walletSource(cli));
}

/** Reads the wallet's address, without a passphrase if possible. */
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

/** Converts a failed payment's error and adds the payer's next step. `again` names the command to rerun. */
export function toPaymentError(
  error: unknown,
  { address }: Pick<Wallet, 'address'>,
  again = own`the same command`,
): CliError {
  if (error instanceof PaymentMayBeLost) {
    const transaction = error.txHash === null ? own`the transaction` : own`transaction ${formed('hash', error.txHash)}`;
    return toCliError(error, {
      nextStep: own`Check what ${transaction} paid for. If it paid for something else, run ${again} with --pay-anew`,
    });
  }
  if (isOwnGoodsError(error)) return toCliError(error, { nextStep: OWN_GOODS_NEXT_STEP });
  if (!(error instanceof MarketError)) return toCliError(error);
  if (error.doNotPayAgain === true) return new CliError('unknown', toCliError(error).parts);
  const nextSteps: Readonly<Record<string, OwnWords>> = {
    insufficient_funds: own`Nothing was paid. Send USDC to ${formed('address', address)} on the market’s network, then run ${again} again. The signature expires after ten minutes; from then on, add --pay-again.`,
    authorization_lapsed: own`Nothing was paid. To pay now, run ${again} with --pay-again`,
    // The market also gives this reason if an unused signature has expired. If it would refuse a new one too, `recordRefusal` threw another
    // error.
    payment_invalid: own`Nothing was paid: the signature has expired or was refused. Once it has expired, run ${again} with --pay-again`,
  };
  return toCliError(error, { nextStep: nextSteps[error.reason] });
}

function isOwnGoodsError(error: unknown): boolean {
  if (error instanceof TermsRefused) return error.why === 'own_goods';
  return error instanceof MarketError && error.reason === 'own_goods';
}

export function progressNotes({ note }: Pick<Cli, 'note'>): (progress: Progress) => void {
  let last: string | null = null;
  return (progress) => {
    const line = progressLine(progress);
    if (line === null || line === last) return;
    last = line;
    note(line);
  };
}

/** Describes a payment's progress, with blocks and time to finality if known. Returns null if there is nothing to print. */
export function progressLine({ phase, payment, reason, estimateSeconds }: Progress): OwnWords | null {
  if (phase === 'signed') return own`signed and saved: if this stops, run the same command again to resume`;
  if (phase === 'collecting') return own`signing to prove who you are; no money moves`;
  if (phase === 'delivered') return null;
  // An unknown reason could be any text, so don't print it.
  const why = reason === undefined || rowOf(reason) === undefined ? own`` : own` (${ofSource(reason)})`;
  if (phase === 'submitted') return own`payment submitted; no transfer seen yet${why}`;
  const { block_number: block = null, finalized_head: head = null } = payment ?? {};
  const left = [
    ...(block === null || head === null ? [] : [blocksToGo(Math.max(0, block - head))]),
    ...(estimateSeconds === undefined ? [] : [own`about ${formatDuration(estimateSeconds)}`]),
  ];
  return own`transfer seen; waiting for it to become final${left.length === 0 ? own`` : own`: ${joined(left)}`}${why}`;
}

function formatDuration(seconds: number): OwnWords {
  return seconds < 90 ? own`${Math.max(1, Math.round(seconds))} s` : own`${Math.round(seconds / 60)} min`;
}

function blocksToGo(blocks: number): OwnWords {
  return blocks === 1 ? own`1 block to go` : own`${blocks} blocks to go`;
}
