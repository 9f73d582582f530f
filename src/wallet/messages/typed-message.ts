import { AUTHORIZATION_TYPES } from '../../contract/authorization-types.ts';
import type { AuthorizationToSign } from '../../sdk/payments/sign-authorization.ts';

const DOMAIN_TYPE = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
] as const;

/** The whole message in plain JSON: this very object is shown, and then goes to the wallet. */
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
