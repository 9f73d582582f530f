import { isAddressEqual } from 'viem';
import { formatUsdc } from '../contract/money.ts';
import { formed, named, type OwnWords, own } from '../contract/own-words.ts';
import { NETWORKS, type Network } from '../contract/vocabulary.ts';
import type { AuthorizationToSign, Wallet } from '../sdk/payments/payment-proof.ts';
import { PolicyRefused } from './agent-error.ts';
import { judgeMarket, type Policy } from './policy.ts';
import type { HeldSpend } from './spend-book.ts';

export interface Guard {
  policy: Policy;
  market: string;
  /** Judges and reserves another payment. If omitted, because the caller allows none, a second signature is refused. */
  again?: (() => Promise<void>) | undefined;
}

/**
 * Wraps a wallet so that it signs only what the book has reserved: that value, to that payee, in USDC of that network, once. Authorizations
 * of value 0 need no reservation, because they only prove the wallet's identity. Nothing at all is signed for a market or a network that
 * the policy excludes. Throws `PolicyRefused` before signing.
 */
export function guardWallet(wallet: Wallet, spend: HeldSpend, { policy, market, again }: Guard): Wallet {
  return Object.freeze({
    address: wallet.address,
    signTypedData: async (typed: AuthorizationToSign) => {
      judgeMarket(policy, { market, network: networkOf(wallet, typed) });
      if (typed.message.value === 0n) return wallet.signTypedData(typed);
      if (spend.signed && again !== undefined) await again();
      mustBeReserved(spend, typed);
      if (await spend.takeSignature()) return wallet.signTypedData(typed);
      const title = own`This payment is already signed, or its day has ended, and another signature wasn’t allowed`;
      throw refuseSigning('not_reserved', title);
    },
  });
}

/** Returns the network of the USDC transfer to sign. Throws if the message is anything else. */
function networkOf({ address }: Wallet, { primaryType, domain, message }: AuthorizationToSign): Network['name'] {
  const network = Object.values(NETWORKS).find(({ chainId }) => chainId === BigInt(domain.chainId));
  const isUsdc =
    network !== undefined &&
    isAddressEqual(domain.verifyingContract, network.usdc) &&
    domain.name === network.domainName &&
    domain.version === network.domainVersion;
  if (isUsdc && primaryType === 'TransferWithAuthorization' && isAddressEqual(message.from, address))
    return network.name;
  throw refuseSigning('not_usdc', own`The signature requested isn’t for a USDC transfer from this wallet`);
}

function mustBeReserved({ record }: HeldSpend, { domain, message }: AuthorizationToSign): void {
  const isReserved =
    record !== null &&
    BigInt(record.amount_units) === message.value &&
    isAddressEqual(record.payee, message.to) &&
    NETWORKS[record.network].chainId === BigInt(domain.chainId);
  if (isReserved) return;
  const reserved =
    record === null
      ? own`nothing`
      : own`${formatUsdc(BigInt(record.amount_units))} to ${formed('address', record.payee)} on ${named(record.network)}`;
  const requested = own`${formatUsdc(message.value)} to ${formed('address', message.to)}`;
  throw refuseSigning(
    'not_reserved',
    own`The market asked to sign for ${requested}, but the book has set aside ${reserved}`,
  );
}

function refuseSigning(reason: string, title: OwnWords): PolicyRefused {
  return new PolicyRefused(reason, title, own`Nothing was signed. Check the listing again.`);
}
