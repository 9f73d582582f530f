import sql from 'sql-template-tag';
import { expect } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import type { Hex } from '../../src/platform/hex.ts';
import type { KillWorld } from './kill-world.ts';
import { type Answer, paidUnits } from './market-world.ts';

/** What a well-behaved client does for one thing, over every death of the market; `run` says which of its manners it shows. */
export type Flow = (scene: KillWorld, run: number) => Promise<KillFlow>;

export interface KillFlow {
  /** Resolves when the client has what it wanted. */
  act(): Promise<void>;
  /** That it happened once. */
  check(): Promise<void>;
}

/** An outage lasts as long as the machine needs to start what was killed. */
const PATIENCE_MS = 600_000;
const PAUSE_MS = 100;

/** Asks in rounds until there is a final answer. Patience is all that a market in trouble may ask for; it must not ask for money. */
export async function retryUntilDone(
  scene: KillWorld,
  attempt: (last: Answer | null) => Promise<Answer>,
): Promise<Answer> {
  let last: Answer | null = null;
  const until = performance.now() + PATIENCE_MS;
  while (performance.now() < until) {
    const answer = await attempt(last);
    const { status, body } = answer;
    if (status === 200 || status === 201) return answer;
    if (status === 202) await scene.world.finalize();
    else if (status === 503 && String(body['retry']).startsWith('same_')) await systemClock.sleep(PAUSE_MS);
    else throw new Error(`a client that did nothing wrong was answered ${status} ${JSON.stringify(body)}`);
    last = answer;
  }
  throw new Error(`no end after ${PATIENCE_MS} ms: ${JSON.stringify(last?.body)}`);
}

/** Several of them at once: what one kill meets is on its way for all of them. */
export function together(flow: Flow, count: number): Flow {
  return async (scene, run) => {
    const errands = await Promise.all(Array.from({ length: count }, (_, nth) => flow(scene, run + nth)));
    const all = async (part: (errand: KillFlow) => Promise<void>): Promise<void> =>
      void (await Promise.all(errands.map(part)));
    return { act: () => all(({ act }) => act()), check: () => all(({ check }) => check()) };
  };
}

/** The books of one sale: one transfer, one purchase, one proof, one event. */
export async function checkSale(
  { world }: KillWorld,
  sale: { listingId: bigint; from: Hex; to: Hex; units: bigint },
): Promise<void> {
  const { listingId } = sale;
  const { database } = world.db;
  expect(await paidUnits(world.chain, sale.from, sale.to)).toEqual([sale.units]);
  expect(
    await database.one(sql`select (select count(*) from purchases where listing_id = ${listingId}) as purchases,
      (select count(*) from payments where listing_id = ${listingId}) as payments,
      (select count(*) from payment_proofs f join payments p on p.id = f.payment_id where p.listing_id = ${listingId}
        and f.purpose = 'purchase') as proofs`),
  ).toEqual({ purchases: 1n, payments: 1n, proofs: 1n });
  expect(await eventsAbout(world, 'sale', listingId)).toBe(1);
}

/** How often the log tells of that. */
export async function eventsAbout({ db }: KillWorld['world'], kind: string, listingId: bigint): Promise<number> {
  const rows = await db.database.rows<{ canonical: Buffer }>(sql`select canonical from events where kind = ${kind}
    and (convert_from(canonical, 'UTF8')::jsonb -> 'detail' ->> 'listing_id')::bigint = ${listingId}`);
  return rows.length;
}
