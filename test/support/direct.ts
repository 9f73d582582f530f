import { encodeFunctionData } from 'viem';
import { type TestAccount, USDC_ADDRESS, usdcWriteAbi } from '../../src/local/chain/accounts.ts';
import { readBlock } from '../../src/platform/chain/reads.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { usdcAdmin } from './chain.ts';
import type { Answer, Member, World } from './market-world.ts';

/** What direct payment needs of a world: also a market in a process of its own has it. */
export type DirectWorld = Pick<World, 'chain' | 'ask'>;

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
export async function openIntent(
  world: DirectWorld,
  member: Member,
  listingId: bigint,
  body?: object,
): Promise<ShownIntent> {
  await world.chain.mine();
  const answer = await world.ask('POST', `/api/purchase-intent/${listingId}`, { key: member.key, body: body ?? {} });
  if (answer.status !== 200 && answer.status !== 201) throw new Error(`no intent: ${JSON.stringify(answer.body)}`);
  return answer.body['purchase_intent'] as ShownIntent;
}

export async function openFeeIntent(world: DirectWorld, member: Member, body?: object): Promise<ShownIntent> {
  await world.chain.mine();
  const answer = await world.ask('POST', '/api/fee-intent', { key: member.key, body: body ?? {} });
  if (answer.status !== 200 && answer.status !== 201) throw new Error(`no intent: ${JSON.stringify(answer.body)}`);
  return answer.body['fee_intent'] as ShownIntent;
}

/** A plain transfer; resolves with its hash when it is mined. */
export async function transfer(world: DirectWorld, from: TestAccount, to: string, units: bigint): Promise<Hex> {
  const receipt = await usdcAdmin(world.chain).transfer(from, to.toLowerCase() as Hex, units);
  return receipt.transactionHash;
}

/** The same as a call, for transactions that are signed now and sent later. */
export function transferData(to: string, units: bigint): { to: Hex; data: Hex } {
  const args = [to.toLowerCase() as Hex, units] as const;
  return { to: USDC_ADDRESS, data: encodeFunctionData({ abi: usdcWriteAbi, functionName: 'transfer', args }) };
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

export function claim(world: DirectWorld, member: Member, listingId: bigint, claiming: Claiming): Promise<Answer> {
  return world.ask('POST', `/api/claim/${listingId}`, { key: member.key, body: feePayment(claiming) });
}

export interface DirectPurchase {
  intent: ShownIntent;
  txHash: Hex;
  signature: Hex;
}

/** Intent, signature and transfer, and nothing claimed yet. */
export async function payDirectly(
  world: DirectWorld,
  given: { buyer: Member; listingId: bigint; payer: TestAccount; units: bigint },
): Promise<DirectPurchase> {
  const intent = await openIntent(world, given.buyer, given.listingId);
  const signature = await signChallenge(given.payer, intent);
  const txHash = await transfer(world, given.payer, intent.seller_wallet, given.units);
  return { intent, txHash, signature };
}

/** Time of market and chain together, for tests of windows. Only ever forward. */
export interface WorldTime {
  clock: Clock;
  /** Mines a block of exactly that second; the market's clock is just behind it. */
  moveTo(world: DirectWorld, second: number): Promise<void>;
  /** The same, counted from the latest block. Says which second that is. */
  moveOn(world: DirectWorld, seconds: number): Promise<number>;
  /** The market's clock alone. */
  slip(seconds: number): void;
}

/** A block's time has no fractions, and the chain may begin a second too early: the market's clock is never behind it. */
const AHEAD_MS = 2_000;

export function createWorldTime(): WorldTime {
  let offsetMs = AHEAD_MS;
  const moveTo = async (world: DirectWorld, second: number): Promise<void> => {
    await nextBlockAt(world, second);
    await world.chain.mine();
    offsetMs = second * 1000 + AHEAD_MS - systemClock.now();
  };
  return {
    clock: { now: () => systemClock.now() + offsetMs, sleep: systemClock.sleep },
    moveTo,
    moveOn: async (world, seconds) => {
      const second = (await latestSecond(world)) + seconds;
      await moveTo(world, second);
      return second;
    },
    slip: (seconds) => {
      offsetMs += seconds * 1000;
    },
  };
}

export async function latestSecond(world: DirectWorld): Promise<number> {
  return Number((await readBlock(world.chain.rpc, 'latest'))?.timestamp ?? 0n);
}

/** The time of the next block, whichever call mines it. */
export async function nextBlockAt(world: DirectWorld, second: number): Promise<void> {
  await world.chain.rpc.call('evm_setNextBlockTimestamp', [second]);
}

/** The second in which an intent begins or ends. */
export const secondOf = (time: string): number => Date.parse(time) / 1000;

/** Where anybody is told that a payment stands. */
export async function statusBy(
  world: DirectWorld,
  by: { intent_id: string } | { tx_hash: string },
): Promise<Record<string, unknown>> {
  const answer = await world.ask('GET', `/api/payment?${new URLSearchParams(by)}`);
  return (answer.body['payment'] as Record<string, unknown> | undefined) ?? answer.body;
}
