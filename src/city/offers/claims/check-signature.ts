import { hashMessage } from 'viem/utils';
import { checkContractSignature } from '../../../platform/chain/contract-signature.ts';
import { readCode } from '../../../platform/chain/reads.ts';
import { RpcFailure } from '../../../platform/chain/rpc.ts';
import { recoverSigner } from '../../../platform/chain/signature.ts';
import type { Hex } from '../../../platform/hex.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { City } from '../../context.ts';
import { readHead } from '../../payments/read-head.ts';
import type { Reservation } from '../offer.ts';

/** That the payer's wallet signed the challenge: its own key, or a contract that says so as of the finalized block. */
export async function checkSignature(
  city: City,
  { challenge, payerWallet }: Pick<Reservation, 'challenge' | 'payerWallet'>,
  given: string,
): Promise<void> {
  // Hex digits of any case are the same bytes.
  const signature = given.toLowerCase() as Hex;
  const digest = hashMessage(challenge);
  if ((await recoverSigner(digest, signature)) === payerWallet) return;
  try {
    const { provider, chainId } = await readHead(city);
    if (chainId !== city.config.network.chainId) throw new Refusal('payment_preserved', { retryAfterSeconds: 10 });
    const hasCode = (await readCode(provider, payerWallet, 'finalized')) !== '0x';
    const isGood =
      hasCode && (await checkContractSignature(provider, payerWallet, digest, signature, { block: 'finalized' }));
    if (isGood) return;
  } catch (error) {
    if (error instanceof RpcFailure) throw new Refusal('payment_preserved', { retryAfterSeconds: 5 });
    throw error;
  }
  throw new Refusal('signature_invalid', {
    detail: 'It is not payer_wallet’s signature of the reservation’s challenge.',
    nextStep: 'Sign the exact challenge of the reservation with personal_sign and payer_wallet, and claim again.',
  });
}
