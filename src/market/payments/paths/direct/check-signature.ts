import { hashMessage } from 'viem/utils';
import { checksummed } from '../../../../contract/chain-values.ts';
import { type Receipt, readCode, readReceipt } from '../../../../platform/chain/reads.ts';
import { type Rpc, RpcFailure } from '../../../../platform/chain/rpc.ts';
import { recoverSigner } from '../../../../platform/chain/signature.ts';
import { canonicalForm, findAcceptedForm } from '../../../../platform/chain/signature-forms.ts';
import { decodeTransfer } from '../../../../platform/chain/usdc.ts';
import type { Hex } from '../../../../platform/hex.ts';
import { Refusal } from '../../../../platform/refusal.ts';
import type { ChainHead } from '../../chain/read-head.ts';
import type { Intent } from './store.ts';

const NO_KEY_SIGNED =
  'It is not the signature of a key: 65 bytes with a v of 27 or 28, or 64 bytes (EIP-2098), with a low s. A contract wallet is best named when the intent is opened.';

/**
 * `waitsFor` is the wallet that cannot be asked yet, because it has no code in the finalized block. It is null if the intent names no
 * wallet, and no key signed or a contract may have sent the transfer; then the wallet is known once the transfer is final.
 */
type SignatureCheck = { payer: Hex } | { waitsFor: Hex | null } | Unsigned;

/** The wallet that the intent names, and its code in the finalized block, which rejected the signature. */
export interface Unsigned {
  unsigned: Hex;
  code: Hex;
}

/**
 * Finds who signed the intent's challenge: the wallet that the intent names or, if none, the signing key or a contract that sent a matching
 * transfer in that transaction. Asks contract wallets as of the finalized block. Throws if neither a key nor a sender signed.
 */
export async function checkSignature(
  payments: { readHead(): Promise<ChainHead> },
  { intent, txHash, signature: sent }: SignedIntent & { txHash: Hex },
): Promise<SignatureCheck> {
  const signature = sent.toLowerCase() as Hex;
  const digest = hashMessage(intent.challenge);
  const signer = await recoverSigner(digest, canonicalForm(signature));
  const wallet = intent.payer;
  if (wallet !== null && signer === wallet) return { payer: wallet };
  try {
    const head = await payments.readHead();
    if (wallet === null) return await checkSenders(head, { intent, txHash, signature }, { digest, signer });
    const code = await readCode(head.rpc, wallet, 'finalized');
    if (code === '0x') {
      // The wallet's own key did not sign. The signature counts only if the wallet becomes a contract that accepts it.
      return { waitsFor: wallet };
    }
    const question = { wallet, digest, signature };
    const form = await findAcceptedForm(head.rpc, question, { block: 'finalized' });
    return form === null ? { unsigned: wallet, code } : { payer: wallet };
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    // If the intent names no wallet, accept the claim of a key even while the chain cannot be read.
    if (wallet === null && signer !== null) return { payer: signer };
    throw new Refusal('payment_preserved', { retryAfterSeconds: 5 });
  }
}

/** Maximum number of wallets asked for one claim. */
const MAX_SENDERS = 4;

/**
 * The signing key is the payer if it sent one of the transfers, or if none of their senders accepts the signature. Before the transfers are
 * final, the latter applies only if no sender is a contract, because a contract's 65-byte signature also recovers to some key.
 */
async function checkSenders(
  { rpc, finalized }: ChainHead,
  { intent, txHash, signature }: SignedIntent & { txHash: Hex },
  { digest, signer }: { digest: Hex; signer: Hex | null },
): Promise<SignatureCheck> {
  const receipt = await readReceipt(rpc, txHash);
  const senders = receipt === null ? [] : listSenders(receipt, intent);
  if (signer !== null && senders.includes(signer)) return { payer: signer };
  const candidates = senders.slice(0, MAX_SENDERS);
  if (receipt === null || finalized === null || receipt.blockNumber > finalized.number) {
    const mustWait = signer === null || (await hasCode(rpc, candidates));
    return mustWait ? { waitsFor: null } : { payer: signer };
  }
  for (const wallet of candidates) {
    if ((await readCode(rpc, wallet, 'finalized')) === '0x') continue;
    const form = await findAcceptedForm(rpc, { wallet, digest, signature }, { block: 'finalized' });
    if (form !== null) return { payer: wallet };
  }
  if (signer === null) throw new Refusal('signature_invalid', { detail: NO_KEY_SIGNED });
  return { payer: signer };
}

async function hasCode(rpc: Rpc, wallets: readonly Hex[]): Promise<boolean> {
  const codes = await Promise.all(wallets.map((wallet) => readCode(rpc, wallet, 'latest')));
  return codes.some((code) => code !== '0x');
}

/** Returns the distinct senders of transfers to the payee of at least the price, in log order. */
function listSenders({ logs }: Receipt, { asset, payee, minimumUnits }: Intent): Hex[] {
  const senders = logs.flatMap((log) => {
    const transfer = log.address === asset ? decodeTransfer(log) : null;
    return transfer?.to === payee && transfer.value >= minimumUnits ? [transfer.from] : [];
  });
  return [...new Set(senders)];
}

/** An intent of the caller, with a signature of its challenge that is still to be checked. */
export interface SignedIntent {
  intent: Intent;
  signature: Hex;
}

export interface EarlyCheck {
  isGood: boolean;
  signer: Hex | null;
  nextStep: string;
}

/** Checks only the challenge's signature, at the latest block; the claim checks again at the finalized one. Throws `RpcFailure`. */
export async function judgeSignature(
  readHead: () => Promise<ChainHead>,
  intent: Intent,
  sent: Hex,
): Promise<EarlyCheck> {
  const signature = sent.toLowerCase() as Hex;
  const digest = hashMessage(intent.challenge);
  const signer = await recoverSigner(digest, canonicalForm(signature));
  const wallet = intent.payer;
  if (wallet === null) return signer === null ? badSignature(NO_KEY_SIGNED) : goodSignature(signer);
  if (signer === wallet) return goodSignature(wallet);
  const { rpc } = await readHead();
  if ((await readCode(rpc, wallet, 'latest')) === '0x') return badSignature(NO_CODE);
  const isGood = (await findAcceptedForm(rpc, { wallet, digest, signature }, { block: 'latest' })) !== null;
  return isGood ? goodSignature(wallet) : badSignature(REJECTED_BY_CODE);
}

const NO_CODE =
  'The wallet of the intent did not sign, and has no code that could speak for it. Sign the exact challenge with its key, or deploy it first. Do not pay before.';
const REJECTED_BY_CODE =
  'The code at the wallet of the intent did not accept the signature. Do not pay from it: have it sign the exact challenge in its own way and check again, or pay from another wallet.';

function goodSignature(signer: Hex): EarlyCheck {
  const nextStep = `Send the transfer from ${checksummed(signer)} before expires_at, then claim it: intent_id, tx_hash and the same payer_signature.`;
  return { isGood: true, signer, nextStep };
}

function badSignature(nextStep: string): EarlyCheck {
  return { isGood: false, signer: null, nextStep };
}
