import { authorizationDigest } from '../platform/chain/authorization.ts';
import { checkContractSignature } from '../platform/chain/contract-signature.ts';
import { readCode } from '../platform/chain/reads.ts';
import { recoverSigner } from '../platform/chain/signature.ts';
import type { Context } from './context.ts';
import type { PaymentRequest } from './read-request.ts';
import type { Signed } from './verified.ts';

/** As the token itself would decide: by the wallet where the payer has code, else by its key. Throws where the node does not answer. */
export async function checkSignature({ rpc, domain, clock }: Context, request: PaymentRequest): Promise<Signed> {
  const { authorization, signature } = request;
  const digest = authorizationDigest(domain, authorization);
  const readAt = clock.now();
  const hasCode = (await readCode(rpc, authorization.from, 'latest')) !== '0x';
  const isValid = hasCode
    ? await checkContractSignature(rpc, authorization.from, digest, signature)
    : (await recoverSigner(digest, signature)) === authorization.from;
  return { isValid, hasCode, readAt };
}
