import { authorizationDigest } from '../platform/chain/authorization.ts';
import { checkContractSignature } from '../platform/chain/contract-signature.ts';
import { readCode } from '../platform/chain/reads.ts';
import { recoverSigner } from '../platform/chain/signature.ts';
import type { Context } from './context.ts';
import type { PaymentRequest } from './read-request.ts';

/**
 * As the token itself would decide: by the wallet where the payer has code, else by its key. Unlike the reference code this refuses the
 * twin of a signature, which the token refuses, and throws where the node does not answer.
 */
export async function checkSignature({ rpc, domain }: Context, request: PaymentRequest): Promise<boolean> {
  const { authorization, signature } = request;
  const digest = authorizationDigest(domain, authorization);
  const code = await readCode(rpc, authorization.from, 'latest');
  if (code !== '0x') return checkContractSignature(rpc, authorization.from, digest, signature);
  return (await recoverSigner(digest, signature)) === authorization.from;
}
