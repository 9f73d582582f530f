import { createWallet, defaultWalletFile } from '../../agent/open-wallet.ts';
import { openChain } from '../../agent/read-chain.ts';
import { formatUsdc, usdcOfUnits } from '../../contract/money.ts';
import { own } from '../../contract/own-words.ts';
import type { Cli, Command, CommandOutput } from '../cli.ts';
import { wrongUse } from '../cli-error.ts';
import { walletAddress as addressToPay } from '../open-wallet-session.ts';

async function makeWallet(cli: Cli): Promise<CommandOutput> {
  const { env, options } = cli;
  const passphrase = options.encrypt === true ? await newPassphrase(cli) : undefined;
  const path = options.wallet ?? defaultWalletFile(env);
  const made = await createWallet(path, passphrase === undefined ? {} : { passphrase });
  return {
    lines: [
      `wallet ${made.address}, in ${made.path}`,
      'Send it only the USDC that may be spent. Keep a copy of the file somewhere else.',
    ],
    json: { address: made.address, file: made.path, encrypted: passphrase !== undefined },
  };
}

async function newPassphrase({ env, terminal }: Cli): Promise<string> {
  const passphrase = env['OPENAISLE_WALLET_PASSPHRASE'];
  if (passphrase !== undefined && passphrase !== '') return passphrase;
  if (!terminal.canAsk) throw wrongUse(own`--encrypt needs a terminal, or OPENAISLE_WALLET_PASSPHRASE`);
  const typed = await terminal.askUnseen('Passphrase for the new wallet:');
  if (typed === '') throw wrongUse(own`The passphrase is empty`);
  if ((await terminal.askUnseen('Repeat it:')) !== typed) throw wrongUse(own`The two passphrases differ`);
  return typed;
}

async function showAddress(cli: Cli): Promise<CommandOutput> {
  const address = await addressToPay(cli);
  return { lines: [address], json: { address } };
}

async function showBalance(cli: Cli): Promise<CommandOutput> {
  const rpc = cli.options.rpc ?? cli.env['OPENAISLE_RPC'];
  if (rpc === undefined || rpc === '') throw wrongUse(own`Which chain? Give --rpc URL, or set OPENAISLE_RPC`);
  const address = await addressToPay(cli);
  const chain = await openChain(rpc);
  const units = await chain.readBalance(address);
  return {
    lines: [`${formatUsdc(units)} on ${chain.network.displayName}, wallet ${address}`],
    json: { address, network: chain.network.name, balance_usdc: usdcOfUnits(units) },
  };
}

export const walletNew: Command = {
  name: 'wallet new',
  summary: 'creates a wallet in a new file; never overwrites one',
  positionals: [],
  options: ['wallet', 'encrypt'],
  examples: ['openaisle wallet new', 'openaisle wallet new --wallet shop.json --encrypt'],
  run: makeWallet,
};

export const walletAddress: Command = {
  name: 'wallet address',
  summary: 'prints the wallet’s address: send it what may be spent',
  positionals: [],
  options: ['wallet'],
  examples: ['openaisle wallet address'],
  run: showAddress,
};

export const walletBalance: Command = {
  name: 'wallet balance',
  summary: 'shows the wallet’s USDC, read from an RPC endpoint',
  positionals: [],
  options: ['rpc', 'wallet'],
  examples: ['openaisle wallet balance --rpc https://rpc.example'],
  run: showBalance,
};
