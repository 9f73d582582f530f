import { hashMessage } from 'viem/utils';
import { checksummed } from '../../../../contract/chain-values.ts';
import { readCode } from '../../../../platform/chain/reads.ts';
import { RpcFailure } from '../../../../platform/chain/rpc.ts';
import { recoverSigner } from '../../../../platform/chain/signature.ts';
import { canonicalForm, findAcceptedForm } from '../../../../platform/chain/signature-forms.ts';
import type { Hex } from '../../../../platform/hex.ts';
import { Refusal } from '../../../../platform/refusal.ts';
import type { ChainHead } from '../../chain/read-head.ts';
import type { Payments } from '../../payments.ts';
import type { Intent } from './store.ts';

const NO_KEY_SIGNED =
  'It is not the signature of a key: 65 bytes with a v of 27 or 28, or 64 bytes (EIP-2098), with a low s. A contract wallet has to be named when the intent is opened.';

/** `undeployed`: the named wallet has no code in the finalized block yet, so the signature cannot be judged. */
type SignatureCheck = { payer: Hex } | { undeployed: Hex };

/**
 * Who signed the challenge of an intent (W8): the wallet that the intent names, or, where it names none, the key behind the
 * signature. A contract wallet is asked as of the finalized block. Refuses what no such wallet signed.
 */
export async function checkSignature(
  payments: Pick<Payments, 'readHead'>,
  intent: Intent,
  given: Hex,
): Promise<SignatureCheck> {
  // Hex digits of any case are the same bytes.
  const signature = given.toLowerCase() as Hex;
  const digest = hashMessage(intent.challenge);
  const signer = await recoverSigner(digest, canonicalForm(signature));
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
    const question = { wallet, digest, signature };
    if ((await findAcceptedForm(rpc, question, { block: 'finalized' })) !== null) return { payer: wallet };
  } catch (error) {
    if (error instanceof RpcFailure) throw new Refusal('payment_preserved', { retryAfterSeconds: 5 });
    throw error;
  }
  throw new Refusal('signature_invalid');
}

/** An open intent of the caller, and a signature to be judged before any money moves. */
export interface SignedIntent {
  intent: Intent;
  signature: Hex;
}

/** What a signature is worth before any money has moved. */
export interface EarlyCheck {
  isGood: boolean;
  /** The wallet that signed; null where none did. */
  signer: Hex | null;
  /** What to do now. */
  nextStep: string;
}

/**
 * Judges a signature of the challenge alone, at the latest block: it promises nothing, since the claim asks again at the finalized one.
 * Throws an `RpcFailure` when the chain cannot be read.
 */
export async function judgeSignature(
  readHead: () => Promise<ChainHead>,
  intent: Intent,
  given: Hex,
): Promise<EarlyCheck> {
  const signature = given.toLowerCase() as Hex;
  const digest = hashMessage(intent.challenge);
  const signer = await recoverSigner(digest, canonicalForm(signature));
  const wallet = intent.payer;
  if (wallet === null) return signer === null ? bad(NO_KEY_SIGNED) : good(signer);
  if (signer === wallet) return good(wallet);
  const { rpc } = await readHead();
  if ((await readCode(rpc, wallet, 'latest')) === '0x') return bad(NO_CODE);
  const isGood = (await findAcceptedForm(rpc, { wallet, digest, signature }, { block: 'latest' })) !== null;
  return isGood ? good(wallet) : bad(SAID_NO);
}

const NO_CODE =
  'The wallet of the intent did not sign, and has no code that could speak for it. Sign the exact challenge with its key, or deploy it first. Do not pay before.';
const SAID_NO =
  'The code at the wallet of the intent did not accept the signature. Do not pay from it: have it sign the exact challenge in its own way and check again, or pay from another wallet.';

function good(signer: Hex): EarlyCheck {
  const nextStep = `Send the transfer from ${checksummed(signer)} before expires_at, then claim it: intent_id, tx_hash and the same payer_signature.`;
  return { isGood: true, signer, nextStep };
}

function bad(nextStep: string): EarlyCheck {
  return { isGood: false, signer: null, nextStep };
}
