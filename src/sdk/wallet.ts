import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import type { TransferWallet } from './payments/direct/transfer-options.ts';
import type { Wallet } from './payments/payment-proof.ts';

/** What a private key can sign: authorizations of USDC, which `buy` and `listGoods` take, and texts. It sends nothing itself. */
export interface KeyWallet extends Wallet, Pick<TransferWallet, 'signMessage'> {}

/**
 * A wallet from a private key: 64 hex digits, with or without 0x. The key stays inside: no property holds it, and printing the wallet shows
 * the address alone. Throws a TypeError, which does not repeat what was given, where it is no key.
 */
export function walletFromKey(privateKey: string): KeyWallet {
  const account = openAccount(privateKey);
  return {
    address: account.address,
    signTypedData: (typed) => account.signTypedData(typed),
    signMessage: ({ message }) => account.signMessage({ message }),
  };
}

function openAccount(given: string): PrivateKeyAccount {
  const [, digits] = /^(?:0x)?([0-9a-f]{64})$/i.exec(given) ?? [];
  if (digits !== undefined) {
    try {
      return privateKeyToAccount(`0x${digits.toLowerCase()}`);
    } catch {
      // Zero, or beyond the curve. Its cause would say which number it was.
    }
  }
  throw new TypeError('the private key of a wallet is 64 hex digits, with or without 0x, and a number on the curve');
}
