import { isAddressEqual } from 'viem';
import { sayUsdc } from '../contract/money.ts';
import { formed, named, type OwnWords, own } from '../contract/own-words.ts';
import { NETWORKS, type Network } from '../contract/vocabulary.ts';
import type { AuthorizationToSign, Wallet } from '../sdk/payments/payment-proof.ts';
import { PolicyRefused } from './agent-error.ts';
import { judgeMarket, type Policy } from './policy.ts';
import type { HeldSpend } from './spend-book.ts';

export interface Guard {
  policy: Policy;
  /** Base address of the market that the signature is for. */
  market: string;
  /** Puts the same sum aside once more where the caller allows another payment; without it a second signature is refused. */
  again?: (() => Promise<void>) | undefined;
}

/**
 * A wallet that signs what was reserved in the book and nothing else: that value, to that payee, in the USDC of that network, once.
 * Authorizations of value 0 pass without a reservation: they show who asks, and move nothing. No signature, with value or without, is made
 * for a market or a network that the policy leaves out. Throws `PolicyRefused` before anything is signed.
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
      const title = own`A signature for this payment exists already, or its day is over; another was not allowed`;
      throw refuseSigning('not_reserved', title);
    },
  });
}

/** Returns the network of the transfer of USDC that is to be signed. Throws where it is no such transfer. */
function networkOf({ address }: Wallet, { primaryType, domain, message }: AuthorizationToSign): Network['name'] {
  const network = Object.values(NETWORKS).find(({ chainId }) => chainId === BigInt(domain.chainId));
  const isUsdc =
    network !== undefined &&
    isAddressEqual(domain.verifyingContract, network.usdc) &&
    domain.name === network.domainName &&
    domain.version === network.domainVersion;
  if (isUsdc && primaryType === 'TransferWithAuthorization' && isAddressEqual(message.from, address))
    return network.name;
  throw refuseSigning('not_usdc', own`What is to be signed is no transfer of USDC from this wallet`);
}

function mustBeReserved({ record }: HeldSpend, { domain, message }: AuthorizationToSign): void {
  const fits =
    record !== null &&
    BigInt(record.amount_units) === message.value &&
    isAddressEqual(record.payee, message.to) &&
    NETWORKS[record.network].chainId === BigInt(domain.chainId);
  if (fits) return;
  const reserved =
    record === null
      ? own`nothing`
      : own`${sayUsdc(BigInt(record.amount_units))} to ${formed('address', record.payee)} on ${named(record.network)}`;
  const asked = own`${sayUsdc(message.value)} to ${formed('address', message.to)} was to be signed`;
  throw refuseSigning('not_reserved', own`${asked}, and ${reserved} is set aside for it`);
}

function refuseSigning(reason: string, title: OwnWords): PolicyRefused {
  return new PolicyRefused(reason, title, own`Look at the listing again; nothing was signed.`);
}
