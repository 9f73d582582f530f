import { encodeFunctionData } from 'viem';
import { type TestAccount, USDC_ADDRESS, usdcWriteAbi } from '../../src/local/chain/accounts.ts';
import { readBlock } from '../../src/platform/chain/reads.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { usdcAdmin } from './chain.ts';
import type { Answer, Member, World } from './market-world.ts';

/** Parts of a world that direct payments need. A market in its own process has them too. */
export type DirectWorld = Pick<World, 'chain' | 'ask'>;

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

/** Mines a block and then opens an intent, because the market takes the time from the chain. */
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

/** Makes a plain transfer. Resolves with its hash once it is mined. */
export async function transfer(world: DirectWorld, from: TestAccount, to: string, units: bigint): Promise<Hex> {
  const receipt = await usdcAdmin(world.chain).transfer(from, to.toLowerCase() as Hex, units);
  return receipt.transactionHash;
}

/** Returns a transfer's call data, for transactions that are signed now and sent later. */
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

/** Opens an intent, signs its challenge and transfers, without claiming. */
export async function payDirectly(
  world: DirectWorld,
  given: { buyer: Member; listingId: bigint; payer: TestAccount; units: bigint },
): Promise<DirectPurchase> {
  const intent = await openIntent(world, given.buyer, given.listingId);
  const signature = await signChallenge(given.payer, intent);
  const txHash = await transfer(world, given.payer, intent.seller_wallet, given.units);
  return { intent, txHash, signature };
}

/** Moves the clocks of market and chain forward together, for tests of time windows. */
export interface WorldTime {
  clock: Clock;
  /** Mines a block with exactly this timestamp and sets the market's clock just ahead of it. */
  moveTo(world: DirectWorld, second: number): Promise<void>;
  /** Moves `seconds` ahead of the latest block. Returns the new timestamp. */
  moveOn(world: DirectWorld, seconds: number): Promise<number>;
  /** Moves only the market's clock forward. */
  shiftMarketClock(seconds: number): void;
}

/** Keeps the market's clock ahead, because block times have no fractions and the chain may start a second early. */
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
    shiftMarketClock: (seconds) => {
      offsetMs += seconds * 1000;
    },
  };
}

export async function latestSecond(world: DirectWorld): Promise<number> {
  return Number((await readBlock(world.chain.rpc, 'latest'))?.timestamp ?? 0n);
}

/** Sets the time of the next block, whichever call mines it. */
export async function nextBlockAt(world: DirectWorld, second: number): Promise<void> {
  await world.chain.rpc.call('evm_setNextBlockTimestamp', [second]);
}

/** Returns the Unix time in seconds of an ISO time. */
export const secondOf = (time: string): number => Date.parse(time) / 1000;

export async function statusBy(
  world: DirectWorld,
  by: { intent_id: string } | { tx_hash: string },
): Promise<Record<string, unknown>> {
  const answer = await world.ask('GET', `/api/payment?${new URLSearchParams(by)}`);
  return (answer.body['payment'] as Record<string, unknown> | undefined) ?? answer.body;
}
