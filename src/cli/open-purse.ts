import { openWallet, readWalletAddress, type WalletSource } from '../agent/open-wallet.ts';
import { type Policy, readPolicy } from '../agent/policy.ts';
import { openSpendBook, type SpendBook } from '../agent/spend-book.ts';
import { MarketError } from '../sdk/errors.ts';
import type { Wallet } from '../sdk/payments/payment-proof.ts';
import type { Cli } from './cli.ts';
import { type CliError, toCliError } from './cli-error.ts';

/** What a command pays with, and under which limits. */
export interface Purse {
  wallet: Wallet;
  policy: Policy;
  book: SpendBook;
  /** Asks the person at the terminal; absent where there is none. */
  confirm?: (asked: { amountUnits: bigint; title: string; seller: string | null }) => Promise<boolean>;
}

export async function openPurse(cli: Cli): Promise<Purse> {
  const { env, terminal } = cli;
  const wallet = await openWallet(walletSource(cli));
  const purse = { wallet, policy: await readPolicy(env), book: openSpendBook({ env, address: wallet.address }) };
  if (!terminal.canAsk) return purse;
  return {
    ...purse,
    confirm: async ({ amountUnits, title, seller }) => {
      const sum = `${Number(amountUnits) / 1_000_000} USDC`;
      const answer = await terminal.ask(`Pay ${sum}${seller === null ? '' : ` to ${seller}`} for ${title}? (yes/no)`);
      return answer.toLowerCase() === 'yes';
    },
  };
}

/** The address that pays, without a passphrase where that is possible. */
export function walletAddress(cli: Cli): Promise<string> {
  return readWalletAddress(walletSource(cli));
}

function walletSource({ options, env, terminal }: Cli): WalletSource {
  return {
    file: options.wallet,
    env,
    ...(terminal.canAsk ? { passphrase: () => terminal.askUnseen('Passphrase of the wallet:') } : {}),
  };
}

/** Why a payment did not come about, where only the payer knows what to do next. */
export function notPaid(error: unknown, { address }: Wallet): CliError {
  const isEmpty = error instanceof MarketError && error.reason === 'insufficient_funds';
  const nextStep = `Nothing was paid. Send USDC to ${address} on the market’s network, then run the same command again.`;
  return toCliError(error, isEmpty ? { nextStep } : {});
}
