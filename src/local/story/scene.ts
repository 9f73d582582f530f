import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Delivery } from '../../contract/listings.ts';
import { LISTING_FEE_TEXT, unitsOfUsdc, usdcOfUnits } from '../../contract/money.ts';
import { LISTING_FEE_UNITS } from '../../contract/vocabulary.ts';
import { readBalance } from '../../platform/chain/usdc.ts';
import { systemClock } from '../../platform/clock.ts';
import { type Client, createClient, type PaymentHeader } from '../../sdk/client.ts';
import { MarketError } from '../../sdk/errors.ts';
import { eventPages, treasuryPages } from '../../sdk/pages.ts';
import { type TestAccount, USDC_ADDRESS, WORLD_ACCOUNTS } from '../chain/accounts.ts';
import { type Exchange, observeRequests } from '../observe.ts';
import type { EventPrinter } from '../tell.ts';
import type { LocalWorld } from '../world.ts';

const memorySchema = z.object({
  told: z.int().nonnegative(),
  events_total: z.int().nonnegative(),
  first_sale: z
    .object({ listing_id: z.int(), artifact: z.string(), tx_hash: z.string(), block_number: z.int() })
    .nullable(),
});
export type Memory = z.output<typeof memorySchema>;

const memoryFile = (dataDir: string): string => join(dataDir, 'story.json');

/** Reads what an earlier story in this folder saved for later checks. */
export function readMemory(dataDir: string): Memory {
  if (!existsSync(memoryFile(dataDir))) return { told: 0, events_total: 0, first_sale: null };
  return memorySchema.parse(JSON.parse(readFileSync(memoryFile(dataDir), 'utf8')));
}

export function writeMemory(dataDir: string, memory: Memory): void {
  const draft = `${memoryFile(dataDir)}.new`;
  // Private, because it contains an artifact that was paid for.
  writeFileSync(draft, `${JSON.stringify(memory, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, memoryFile(dataDir));
}

class StoryBroken extends Error {
  override readonly name = 'StoryBroken';
}

export interface Person {
  id: number;
  handle: string;
  key: string;
}

/** Listed goods, including the artifact that only their merchant knows. */
export interface Goods {
  id: number;
  title: string;
  artifact: string;
  priceUsdc: number;
}

/** State of the story, including results that later steps use. */
export interface Scene {
  world: LocalWorld;
  tell: EventPrinter;
  signal: AbortSignal;
  memory: Memory;
  /** Part of the goods' titles, so that a second run in the same folder sells something new. */
  edition: string;
  people: Map<string, Person>;
  goods: Goods | null;
  freeGoods: Goods | null;
  /** The last sale, and the proof that paid for it. */
  sale: { delivery: Delivery; proof: PaymentHeader } | null;
}

/** Creates a client whose requests are reported. Without a handle it is anonymous. */
export function observedClient(scene: Scene, handle: string | null): { client: Client; exchanges: Exchange[] } {
  const { environment, exchanges } = observeRequests(scene.tell);
  const key = handle === null ? {} : { key: personOf(scene, handle).key };
  return { client: createClient({ baseUrl: scene.world.marketUrl, environment, ...key }), exchanges };
}

export function personOf(scene: Scene, handle: string): Person {
  return need(scene.people.get(handle), handle);
}

/** Returns a value that an earlier step must have set. */
export function need<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new StoryBroken(`the story has no ${what} yet`);
  return value;
}

/** Reports a check that passed, and stops the story if it failed. */
export function check(scene: Scene, holds: boolean, text: string): void {
  if (!holds) throw new StoryBroken(text);
  scene.tell({ kind: 'held', text });
}

export function explain(scene: Scene, text: string): void {
  scene.tell({ kind: 'meaning', text });
}

export function balanceOf(scene: Scene, { address }: TestAccount): Promise<bigint> {
  return readBalance(scene.world.chain.rpc, USDC_ADDRESS, address);
}

export async function readBalances(scene: Scene): Promise<{ buyer: bigint; seller: bigint }> {
  const { buyerOne, sellerOne } = WORLD_ACCOUNTS;
  return { buyer: await balanceOf(scene, buyerOne), seller: await balanceOf(scene, sellerOne) };
}

const EVENTUALLY_MS = 10_000;
const POLL_MS = 50;

/** Polls for something that appears only after an answer, such as an event, which gets its id later. */
export async function waitFor<T>(read: () => Promise<T | null>, what: string): Promise<T> {
  for (let waitedMs = 0; waitedMs < EVENTUALLY_MS; waitedMs += POLL_MS) {
    const value = await read();
    if (value !== null) return value;
    await systemClock.sleep(POLL_MS);
  }
  throw new StoryBroken(`${what} within ${EVENTUALLY_MS / 1_000} s`);
}

/** One step of the story. It reports its requests as they happen, and stops the story at the first failed check. */
export interface Step {
  /** Name used by scripts and in failure messages. */
  name: string;
  title: string;
  run(scene: Scene): Promise<void>;
}

export function unitsOf(usdc: number): bigint {
  const units = unitsOfUsdc(usdc);
  if (units === null) throw new TypeError('an amount of USDC has at most 6 decimals');
  return units;
}

export const SELLER = 'mira';
export const BUYER = 'tomas';

/** Key file of a merchant or resident. */
export const keyFile = z.object({ handle: z.string(), merchant_key: z.string() });

/** Returns the merchant whose key is in the folder, if the market accepts it. A key may never have been confirmed. */
export async function findPerson(world: LocalWorld, handle: string): Promise<Person | null> {
  const file = world.keyFile(handle);
  if (!existsSync(file)) return null;
  const { merchant_key: key } = keyFile.parse(JSON.parse(readFileSync(file, 'utf8')));
  try {
    const { body } = await createClient({ baseUrl: world.marketUrl, key }).getMe({});
    return { id: body.merchant.id, handle, key };
  } catch (error) {
    if (error instanceof MarketError && error.status === 401) return null;
    throw error;
  }
}

/** Saves the key before it is confirmed, because it is shown only once and the merchant is lost without it. */
export function saveKey(file: string, keys: z.input<typeof keyFile> & { recovery_codes?: string[] }): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 });
}

export const booksStep: Step = {
  name: 'books',
  title: 'The books are open to everybody',
  run: async (scene) => {
    await readTreasury(scene);
    await readPayment(scene);
    await readEvents(scene);
    explain(
      scene,
      'Fees, payments and every public act can be checked by anybody, without a key and without trusting the market.',
    );
  },
};

async function readTreasury(scene: Scene): Promise<void> {
  const { client } = observedClient(scene, null);
  let fees = 0;
  for await (const page of treasuryPages(client, { limit: 50 })) fees += page.rows.length;
  const { body } = await client.getTreasury();
  check(
    scene,
    fees > 0 && fees === body.fees_count,
    `${fees} fee${fees === 1 ? '' : 's'} of ${LISTING_FEE_TEXT}, each with its transaction`,
  );
  // Anybody may send the treasury more than fees.
  const onChain = usdcOfUnits(await balanceOf(scene, WORLD_ACCOUNTS.treasury));
  const due = usdcOfUnits(BigInt(fees) * LISTING_FEE_UNITS);
  const agree = body.usdc_balance_onchain === onChain && onChain >= body.fees_collected_usdc;
  check(scene, agree && body.fees_collected_usdc === due, `the chain agrees: the treasury holds ${onChain} USDC`);
}

async function readPayment(scene: Scene): Promise<void> {
  const { receipt } = need(scene.sale, 'sale').delivery;
  const { client, exchanges } = observedClient(scene, null);
  const { body } = await client.getPayment({ query: { tx_hash: need(receipt, 'receipt').tx_hash } });
  const { payment_status: status, stage } = body.payment;
  check(scene, status === 'completed' && stage === 'delivered', 'the payment of the sale is completed and delivered');
  const { artifact } = need(scene.goods, 'goods');
  const answers = exchanges.map(({ text }) => text.toLowerCase()).join();
  const isPrivate = !answers.includes(artifact.toLowerCase()) && !answers.includes(WORLD_ACCOUNTS.buyerOne.address);
  check(scene, isPrivate, 'its public status holds neither the goods nor who bought them');
}

async function readEvents(scene: Scene): Promise<void> {
  const listingId = need(scene.goods, 'goods').id;
  const { client } = observedClient(scene, null);
  const readAllEvents = async () => {
    const kinds = new Map<string, number>();
    let rows = 0;
    let sold = false;
    for await (const page of eventPages(client, { limit: 200 })) {
      rows += page.rows.length;
      for (const { kind, detail } of page.rows) {
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
        sold ||= kind === 'sale' && detail['listing_id'] === listingId;
      }
    }
    // The last event may not have its id yet.
    return sold ? { kinds, rows } : null;
  };
  const { kinds, rows } = await waitFor(readAllEvents, 'a sale event of the goods');
  const summary = [...kinds].map(([kind, count]) => `${count} ${kind}`).join(', ');
  check(scene, rows > scene.memory.events_total, `${rows} events, their ids without a gap: ${summary}`);
  check(
    scene,
    ['register', 'listing', 'maintainer_seed', 'sale'].every((kind) => kinds.has(kind)),
    'all that happened is among them',
  );
  scene.memory.events_total = rows;
}
