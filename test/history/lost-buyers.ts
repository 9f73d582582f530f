import { type TestAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { openIntent, signChallenge, transfer } from '../support/direct.ts';
import {
  type Answer,
  type AskOptions,
  BASE_URL,
  type Member,
  type SignedProof,
  signProof,
  type World,
} from '../support/market-world.ts';
import { fundedWallet, GAS_WEI, PRICE, signCollecting } from '../support/trade.ts';

export const FUNDS = 100_000_000n;

/** A purchase whose books are lost, with everything that its buyer has of it. */
export interface LostPurchase {
  listing: bigint;
  payer: TestAccount;
  key: string | null;
  proof: SignedProof | null;
  token: string | null;
  slip: string | null;
  claim: { intent_id: string; tx_hash: string; payer_signature: string } | null;
  txHash: string | null;
  /** Payment id before the loss. Null if it was never shown. */
  paymentId: number | null;
}

export interface Shop {
  world: World;
  seller: Member;
}

export const termsOf = (listing: bigint) => ({
  payTo: WORLD_ACCOUNTS.sellerOne.address,
  units: PRICE,
  resource: `${BASE_URL}/api/buy/${listing}`,
});

export const withSlip = ({ slip }: LostPurchase, asked: AskOptions = {}): AskOptions => ({
  ...asked,
  headers: { ...asked.headers, ...(slip === null ? {} : { 'x-recovery-slip': slip }) },
});

/** Opens an x402 purchase whose transfer is pending. */
export async function openByX402({ world }: Shop, listing: bigint, key: string | null): Promise<LostPurchase> {
  const payer = await fundedWallet(world, FUNDS);
  const proof = await signProof(world.chain, payer, termsOf(listing));
  const answer = await world.buy(listing, { proof: proof.v2, ...(key === null ? {} : { key }) });
  if (answer.status !== 202) throw new Error(JSON.stringify(answer.body));
  const { body } = answer;
  const text = (name: string): string | null => (body[name] as string | undefined) ?? null;
  const payment = body['payment'] as { id: number; tx_hash: string | null };
  return {
    ...{ listing, payer, key, proof, token: text('delivery_token'), slip: text('recovery_slip'), claim: null },
    ...{ txHash: payment.tx_hash, paymentId: payment.id },
  };
}

export async function collect({ world }: Shop, made: LostPurchase): Promise<LostPurchase> {
  const { listing, key, token, claim } = made;
  const byToken = token === null ? {} : { headers: { 'x-delivery-token': token } };
  const answer =
    claim === null
      ? await world.buy(listing, key === null ? byToken : { key })
      : await world.ask('POST', `/api/claim/${listing}`, { key: key ?? '', body: claim });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  const receipt = answer.body['receipt'] as { tx_hash: string; payment_id: number };
  return { ...made, txHash: receipt.tx_hash, paymentId: receipt.payment_id };
}

/** Opens an intent, transfers and signs, but does not claim yet. */
export async function payByTransfer({ world }: Shop, listing: bigint, buyer: Member): Promise<LostPurchase> {
  const payer = await fundedWallet(world, FUNDS);
  await fund(world.chain, [{ address: payer.address, usdcUnits: 0n, wei: GAS_WEI }]);
  const intent = await openIntent(world, buyer, listing);
  const txHash = await transfer(world, payer, intent.seller_wallet, PRICE);
  const claim = { intent_id: intent.id, tx_hash: txHash, payer_signature: await signChallenge(payer, intent) };
  const slip = String(intent['recovery_slip']);
  return { listing, payer, key: buyer.key, proof: null, token: null, slip, claim, txHash, paymentId: null };
}

/** Collects with a signature of the wallet that paid. The request names the transaction too if `txHash` is given. */
export async function signToCollect(
  { world }: Shop,
  { listing, payer }: Pick<LostPurchase, 'listing' | 'payer'>,
  asked: AskOptions,
  txHash?: string | null,
): Promise<Answer> {
  const goods = { id: listing, terms: termsOf(listing) };
  const signed = await signCollecting(world.chain, goods, { payer: payer.address, signer: payer });
  const body = { ...signed.body, ...(txHash == null ? {} : { tx_hash: txHash }) };
  return await world.buy(listing, { ...asked, proof: signed.v2, body });
}
