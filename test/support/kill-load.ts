import { createDice, type Dice } from '../stress/dice.ts';
import type { Flow, KillFlow } from './kill-flow.ts';
import { buyDirectly, listByTransfer } from './kill-flows-direct.ts';
import { editListing, registerMerchant, voteForListing, withdrawListing } from './kill-flows-shop.ts';
import { buyByX402, listByX402 } from './kill-flows-x402.ts';
import type { KillWorld } from './kill-world.ts';
import type { Member } from './market-world.ts';

/** How often each comes. */
const FLOWS: readonly (readonly [number, Flow])[] = [
  [4, buyByX402],
  [3, buyDirectly],
  [2, listByX402],
  [1, listByTransfer],
  [2, voteForListing],
  [2, editListing],
  [1, withdrawListing],
  [1, registerMerchant],
];
const CLIENTS = 8;
const MEMBERS = 24;

export interface Load {
  /** Nothing new is begun; resolves when everybody has what he wanted. Throws what a client had to complain about. */
  end(): Promise<KillFlow[]>;
}

/** Clients that do one errand after the other, all at the same time; what each does is up to the seed. */
export async function startLoad(scene: KillWorld, seed: number): Promise<Load> {
  const members: Member[] = [];
  for (let n = 0; n < MEMBERS; n += 1) members.push(await scene.member());
  let asked = 0;
  const member = async (): Promise<Member> => {
    asked += 1;
    const taken = members[asked % MEMBERS];
    if (taken === undefined) throw new RangeError('there is no client');
    return taken;
  };
  const done: KillFlow[] = [];
  let isOn = true;
  const run = async (nth: number): Promise<void> => {
    const dice = createDice(seed + nth);
    while (isOn) {
      const errand = await pickFlow(dice)({ ...scene, member }, dice.number(4));
      await errand.act();
      done.push(errand);
    }
  };
  const clients = Array.from({ length: CLIENTS }, (_, nth) => run(nth));
  // Looked at when they end; until then a complaint must not end the process.
  for (const client of clients) client.catch(() => {});
  return {
    end: async () => {
      isOn = false;
      const complaints = (await Promise.allSettled(clients)).flatMap((one) =>
        one.status === 'rejected' ? [one.reason] : [],
      );
      if (complaints.length > 0) throw new AggregateError(complaints, complaints.map(String).join('\n'));
      return done;
    },
  };
}

function pickFlow(dice: Dice): Flow {
  let left = dice.number(FLOWS.reduce((sum, [weight]) => sum + weight, 0));
  for (const [weight, flow] of FLOWS) {
    left -= weight;
    if (left < 0) return flow;
  }
  throw new RangeError('no flow');
}

/** What ends the test: everything is done, was done once, is still as acknowledged, and is as the chain has it. */
export async function endLoad(scene: KillWorld, load: Load): Promise<{ faults: string[]; errands: number }> {
  const errands = await load.end();
  const faults = await scene.finish();
  for (const { check } of errands) await check();
  return { faults, errands: errands.length };
}
