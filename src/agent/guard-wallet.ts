import { isAddressEqual } from 'viem';
import { sayUsdc } from '../contract/money.ts';
import { NETWORKS } from '../contract/vocabulary.ts';
import type { AuthorizationToSign, Wallet } from '../sdk/payments/payment-proof.ts';
import { PolicyRefused } from './agent-error.ts';
import type { HeldSpend } from './spend-book.ts';

/**
 * A wallet that signs what was reserved in the book and nothing else: that value, to that payee, in the USDC of that network, once.
 * Authorizations of value 0 pass: they show who asks, and move nothing. Throws `PolicyRefused` before anything is signed.
 * `again` puts the same sum aside once more where the caller allows another payment; without it a second signature is refused.
 */
export function guardWallet(wallet: Wallet, held: HeldSpend, again?: () => Promise<void>): Wallet {
  return Object.freeze({
    address: wallet.address,
    signTypedData: async (typed: AuthorizationToSign) => {
      mustBeTransfer(wallet, typed);
      if (typed.message.value === 0n) return wallet.signTypedData(typed);
      if (held.signed && again !== undefined) await again();
      mustBeReserved(held, typed);
      if (await held.takeSignature()) return wallet.signTypedData(typed);
      const title = 'A signature for this payment exists already, or its day is over; another was not allowed';
      throw refuse('not_reserved', title);
    },
  });
}

function mustBeTransfer({ address }: Wallet, { primaryType, domain, message }: AuthorizationToSign): void {
  const network = Object.values(NETWORKS).find(({ chainId }) => chainId === BigInt(domain.chainId));
  const isUsdc =
    network !== undefined &&
    isAddressEqual(domain.verifyingContract, network.usdc) &&
    domain.name === network.domainName &&
    domain.version === network.domainVersion;
  if (isUsdc && primaryType === 'TransferWithAuthorization' && isAddressEqual(message.from, address)) return;
  throw refuse('not_usdc', 'What is to be signed is no transfer of USDC from this wallet');
}

function mustBeReserved({ record }: HeldSpend, { domain, message }: AuthorizationToSign): void {
  const fits =
    record !== null &&
    BigInt(record.amount_units) === message.value &&
    isAddressEqual(record.payee, message.to) &&
    NETWORKS[record.network].chainId === BigInt(domain.chainId);
  if (fits) return;
  const reserved =
    record === null ? 'nothing' : `${sayUsdc(BigInt(record.amount_units))} to ${record.payee} on ${record.network}`;
  const asked = `${sayUsdc(message.value)} to ${message.to} was to be signed`;
  throw refuse('not_reserved', `${asked}, and ${reserved} is set aside for it`);
}

function refuse(reason: string, title: string): PolicyRefused {
  return new PolicyRefused(reason, title, 'Look at the listing again; nothing was signed.');
}
