import { hashMessage } from 'viem/utils';
import { checkContractSignature } from '../../../../platform/chain/contract-signature.ts';
import { readCode } from '../../../../platform/chain/reads.ts';
import { RpcFailure } from '../../../../platform/chain/rpc.ts';
import { recoverSigner } from '../../../../platform/chain/signature.ts';
import type { Hex } from '../../../../platform/hex.ts';
import { Refusal } from '../../../../platform/refusal.ts';
import type { Payments } from '../../payments.ts';
import type { Intent } from './store.ts';

const NO_KEY_SIGNED =
  'It is not the canonical signature of a key: 65 bytes, low s, v 27 or 28. A contract wallet has to be named when the intent is opened.';

/** `undeployed`: the named wallet has no code in the finalized block yet, so the signature cannot be judged. */
export type Signed = { payer: Hex } | { undeployed: Hex };

/**
 * Who signed the challenge of an intent (W8): the wallet that the intent names, or, where it names none, the key behind the
 * signature. A contract wallet is asked as of the finalized block. Refuses what no such wallet signed.
 */
export async function checkSignature(
  payments: Pick<Payments, 'readHead'>,
  intent: Intent,
  given: Hex,
): Promise<Signed> {
  // Hex digits of any case are the same bytes.
  const signature = given.toLowerCase() as Hex;
  const digest = hashMessage(intent.challenge);
  const signer = await recoverSigner(digest, signature);
  if (intent.payer === null) {
    if (signer === null) throw new Refusal('signature_invalid', { detail: NO_KEY_SIGNED });
    return { payer: signer };
  }
  if (signer === intent.payer) return { payer: signer };
  const wallet = intent.payer;
  try {
    const { rpc } = await payments.readHead();
    if ((await readCode(rpc, wallet, 'finalized')) === '0x') {
      // A signature by another wallet's key will never be this wallet's, unless this wallet becomes a contract.
      return { undeployed: wallet };
    }
    if (await checkContractSignature(rpc, wallet, digest, signature, { block: 'finalized' })) return { payer: wallet };
  } catch (error) {
    if (error instanceof RpcFailure) throw new Refusal('payment_preserved', { retryAfterSeconds: 5 });
    throw error;
  }
  throw new Refusal('signature_invalid');
}
