import { AUTHORIZATION_TYPES } from '../contract/authorization-types.ts';
import { NETWORKS } from '../contract/vocabulary.ts';
import type { AuthorizationToSign } from '../sdk/payments/payment-proof.ts';
import type { Offer } from './offer.ts';

const LONGEST_WINDOW_SECONDS = 600;

/** Thrown if the message differs from what the page shows. Nothing was signed. */
export class MessageMismatch extends Error {
  override readonly name = 'MessageMismatch';
}

export type Purpose = 'pay' | 'collect';

/** Compares the message with the offer that the user saw, whatever the market has sent since. The amount for collecting is 0. */
export function checkMessage(
  typed: TypedMessage,
  { offer, payer, nowMs, purpose }: { offer: Offer; payer: string; nowMs: number; purpose: Purpose },
): void {
  const network = NETWORKS[offer.network];
  const { domain, message, primaryType } = typed;
  const nowSeconds = Math.floor(nowMs / 1_000);
  const faults: [boolean, string][] = [
    [primaryType !== 'TransferWithAuthorization', 'the kind of message'],
    [!isSameAddress(message.to, offer.seller_wallet), 'the wallet of the seller'],
    [message.value !== (purpose === 'pay' ? offer.units : 0n).toString(), 'the amount'],
    [!isSameAddress(message.from, payer), 'the wallet that pays'],
    [BigInt(domain.chainId) !== network.chainId, 'the network'],
    [
      !isSameAddress(domain.verifyingContract, offer.usdc) || !isSameAddress(offer.usdc, network.usdc),
      'the address of USDC',
    ],
    [domain.name !== network.domainName || domain.version !== network.domainVersion, 'the name of the token'],
    [Number(message.validBefore) > nowSeconds + LONGEST_WINDOW_SECONDS, 'the time for which it is good'],
    [Number(message.validAfter) > nowSeconds, 'the time from which it is good'],
  ];
  const fault = faults.find(([isWrong]) => isWrong);
  if (fault !== undefined) throw new MessageMismatch(`${fault[1]} is not what this page shows`);
}

function isSameAddress(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

const DOMAIN_TYPE = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
] as const;

/** Converts the message to plain JSON. The same object is shown to the user and sent to the wallet. */
export function toTypedMessage({ domain, primaryType, message }: AuthorizationToSign) {
  return {
    types: { EIP712Domain: DOMAIN_TYPE, ...AUTHORIZATION_TYPES },
    domain: { ...domain, chainId: Number(domain.chainId) },
    primaryType,
    message: {
      from: message.from,
      to: message.to,
      value: message.value.toString(),
      validAfter: message.validAfter.toString(),
      validBefore: message.validBefore.toString(),
      nonce: message.nonce,
    },
  };
}

export type TypedMessage = ReturnType<typeof toTypedMessage>;
