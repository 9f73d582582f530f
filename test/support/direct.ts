import type { TestAccount } from '../../src/local/chain/accounts.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { usdcAdmin } from './chain.ts';
import type { Answer, Member, World } from './market-world.ts';

/** An intent as the market shows it. */
export interface ShownIntent {
  id: string;
  challenge: string;
  expires_at: string;
  created_at: string;
  seller_wallet: string;
  minimum_amount_units: string;
  payer_wallet: string | null;
  [field: string]: unknown;
}

/** The market takes the time from the chain: a block of now is there before an intent opens. */
export async function openIntent(world: World, member: Member, listingId: bigint, body?: object): Promise<ShownIntent> {
  await world.chain.mine();
  const answer = await world.ask('POST', `/api/purchase-intent/${listingId}`, { key: member.key, body: body ?? {} });
  if (answer.status !== 200 && answer.status !== 201) throw new Error(`no intent: ${JSON.stringify(answer.body)}`);
  return answer.body['purchase_intent'] as ShownIntent;
}

export async function openFeeIntent(world: World, member: Member, body?: object): Promise<ShownIntent> {
  await world.chain.mine();
  const answer = await world.ask('POST', '/api/fee-intent', { key: member.key, body: body ?? {} });
  if (answer.status !== 200 && answer.status !== 201) throw new Error(`no intent: ${JSON.stringify(answer.body)}`);
  return answer.body['fee_intent'] as ShownIntent;
}

/** A plain transfer; resolves with its hash when it is mined. */
export async function transfer(world: World, from: TestAccount, to: string, units: bigint): Promise<Hex> {
  const receipt = await usdcAdmin(world.chain).transfer(from, to.toLowerCase() as Hex, units);
  return receipt.transactionHash;
}

export async function signChallenge(account: TestAccount, intent: Pick<ShownIntent, 'challenge'>): Promise<Hex> {
  return await account.signer.signMessage({ message: intent.challenge });
}

export interface Claiming {
  intent: ShownIntent;
  txHash: string;
  signature: string;
}

export const feePayment = ({ intent, txHash, signature }: Claiming) => ({
  intent_id: intent.id,
  tx_hash: txHash,
  payer_signature: signature,
});

export function claim(world: World, member: Member, listingId: bigint, claiming: Claiming): Promise<Answer> {
  return world.ask('POST', `/api/claim/${listingId}`, { key: member.key, body: feePayment(claiming) });
}

export interface DirectPurchase {
  intent: ShownIntent;
  txHash: Hex;
  signature: Hex;
}

/** Intent, signature and transfer, and nothing claimed yet. */
export async function payDirectly(
  world: World,
  given: { buyer: Member; listingId: bigint; payer: TestAccount; units: bigint },
): Promise<DirectPurchase> {
  const intent = await openIntent(world, given.buyer, given.listingId);
  const signature = await signChallenge(given.payer, intent);
  const txHash = await transfer(world, given.payer, intent.seller_wallet, given.units);
  return { intent, txHash, signature };
}
