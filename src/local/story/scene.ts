import type { Delivery } from '../../contract/listings.ts';
import { readBalance } from '../../platform/chain/usdc-reads.ts';
import { systemClock } from '../../platform/clock.ts';
import type { PaymentHeader } from '../../sdk/call-types.ts';
import { type Client, createClient } from '../../sdk/client.ts';
import type { TestAccount } from '../chain/accounts.ts';
import { USDC_ADDRESS } from '../chain/usdc-contract.ts';
import { type Exchange, observe } from '../observe.ts';
import type { Tell } from '../tell.ts';
import type { LocalWorld } from '../world.ts';
import type { Memory } from './memory.ts';

/** What a step said would be, and is not. */
export class StoryBroken extends Error {
  override readonly name = 'StoryBroken';
}

export interface Person {
  id: number;
  handle: string;
  key: string;
}

/** Goods on the shelves, with what only their merchant knows. */
export interface Goods {
  id: number;
  title: string;
  artifact: string;
  priceUsdc: number;
}

/** Where the story is, and what its steps hand on to later ones. */
export interface Scene {
  world: LocalWorld;
  tell: Tell;
  signal: AbortSignal;
  memory: Memory;
  /** Of the goods: a second look at the same folder sells something new. */
  edition: string;
  people: Map<string, Person>;
  goods: Goods | null;
  freeGoods: Goods | null;
  /** The last sale, and the proof that paid for it. */
  sale: { delivery: Delivery; proof: PaymentHeader } | null;
}

/** A client whose requests are told, for a merchant or, without a handle, for anybody. */
export function speakAs(scene: Scene, handle: string | null): { client: Client; exchanges: Exchange[] } {
  const { environment, exchanges } = observe(scene.tell);
  const key = handle === null ? {} : { key: person(scene, handle).key };
  return { client: createClient({ baseUrl: scene.world.marketUrl, environment, ...key }), exchanges };
}

export function person(scene: Scene, handle: string): Person {
  return given(scene.people.get(handle), handle);
}

/** What an earlier step must have left. */
export function given<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new StoryBroken(`the story has no ${what} yet`);
  return value;
}

/** Tells what holds; stops the story at what does not. */
export function hold(scene: Scene, holds: boolean, text: string): void {
  if (!holds) throw new StoryBroken(text);
  scene.tell({ kind: 'held', text });
}

export function explain(scene: Scene, text: string): void {
  scene.tell({ kind: 'meaning', text });
}

export function balanceOf(scene: Scene, { address }: TestAccount): Promise<bigint> {
  return readBalance(scene.world.chain.rpc, USDC_ADDRESS, address);
}

const EVENTUALLY_MS = 10_000;
const POLL_MS = 50;

/** For what follows an answer by itself, such as the number of an event. */
export async function eventually<T>(read: () => Promise<T | null>, what: string): Promise<T> {
  for (let waitedMs = 0; waitedMs < EVENTUALLY_MS; waitedMs += POLL_MS) {
    const found = await read();
    if (found !== null) return found;
    await systemClock.sleep(POLL_MS);
  }
  throw new StoryBroken(`${what} within ${EVENTUALLY_MS / 1_000} s`);
}
