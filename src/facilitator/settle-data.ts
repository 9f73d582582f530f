import { encodeFunctionData, parseAbi } from 'viem/utils';
import type { Authorization } from '../platform/chain/authorization.ts';
import type { Hex } from '../platform/hex.ts';

const abi = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
]);

/** The one call that this server's key is for. */
export function settleData(authorization: Authorization, signature: Hex): Hex {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const args = [from, to, value, validAfter, validBefore, nonce, signature] as const;
  return encodeFunctionData({ abi, functionName: 'transferWithAuthorization', args });
}
