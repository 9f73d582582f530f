import { hashMessage } from 'viem/utils';
import { checkContractSignature } from '../../../platform/chain/contract-signature.ts';
import { readCode } from '../../../platform/chain/reads.ts';
import { RpcFailure } from '../../../platform/chain/rpc.ts';
import { recoverSigner } from '../../../platform/chain/signature.ts';
import type { Hex } from '../../../platform/hex.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import type { Intent } from './store.ts';

/** `undeployed`: the named wallet has no code in the finalized block yet, so nobody can tell. */
export type Signed = { payer: Hex } | { undeployed: Hex };

/**
 * Who signed the challenge of an intent (W8): the wallet that the intent names, or, where it names none, the key behind the
 * signature. A contract wallet is asked as of the finalized block. Refuses what no such wallet signed.
 */
export async function checkSignature(market: Pick<Market, 'rpc'>, intent: Intent, signature: Hex): Promise<Signed> {
  const digest = hashMessage(intent.challenge);
  const signer = await recoverSigner(digest, signature);
  if (intent.payer === null) {
    if (signer === null) throw new Refusal('signature_invalid');
    return { payer: signer };
  }
  if (signer === intent.payer) return { payer: signer };
  const { rpc } = market;
  const wallet = intent.payer;
  try {
    if ((await readCode(rpc, wallet, 'finalized')) === '0x') {
      // A key's signature by somebody else will never be this wallet's, unless it becomes a contract.
      return { undeployed: wallet };
    }
    if (await checkContractSignature(rpc, wallet, digest, signature, { block: 'finalized' })) return { payer: wallet };
  } catch (error) {
    if (error instanceof RpcFailure) throw new Refusal('payment_preserved', { retryAfterSeconds: 5 });
    throw error;
  }
  throw new Refusal('signature_invalid');
}
