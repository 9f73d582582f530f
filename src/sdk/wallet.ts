import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import type { TransferWallet } from './payments/direct/transfer-options.ts';
import type { Wallet } from './payments/payment-proof.ts';

/** Signs USDC authorizations (for `buy` and `listGoods`) and texts, but sends nothing itself. */
export interface KeyWallet extends Wallet, Pick<TransferWallet, 'signMessage'> {}

/**
 * Makes a wallet from a private key: 64 hex digits, with or without 0x. No property contains the key, and printing the wallet shows only
 * the address. Throws a TypeError that doesn't quote the input if it isn't a key.
 */
export function walletFromKey(privateKey: string): KeyWallet {
  const account = openAccount(privateKey);
  return {
    address: account.address,
    signTypedData: (typed) => account.signTypedData(typed),
    signMessage: ({ message }) => account.signMessage({ message }),
  };
}

function openAccount(privateKey: string): PrivateKeyAccount {
  const [, digits] = /^(?:0x)?([0-9a-f]{64})$/i.exec(privateKey) ?? [];
  if (digits !== undefined) {
    try {
      return privateKeyToAccount(`0x${digits.toLowerCase()}`);
    } catch {
      // The key is zero or too large for the curve. Drop the cause, because it quotes the key.
    }
  }
  throw new TypeError('a wallet’s private key must be 64 hex digits, with or without 0x, and a number on the curve');
}
