import sql from 'sql-template-tag';
import { expect } from 'vitest';
import type { Database } from '../../src/platform/database/database.ts';
import type { Hex } from '../../src/platform/hex.ts';
import type { Dice } from '../support/dice.ts';
import type { Sight } from './reorg-chain.ts';
import type { PaymentUnderTest } from './reorg-payments.ts';

export type FateName =
  | 'vanishes'
  | 'moves'
  | 'changes its log index'
  | 'comes by another transaction'
  | 'stays'
  | 'appears'
  /** The transfer is in a block below the replaced ones. */
  | 'untouched'
  /** The transfer is in no block, neither before nor after. */
  | 'waits';

export interface Fate {
  name: FateName;
  /** Index of the transfer's new block. Null if there is none. */
  at: number | null;
}

export interface Drawing {
  dice: Dice;
  sight: Sight;
  depth: number;
  stray(forkBlock: number): Promise<Hex>;
}

/** Chooses at random what a reorg does to each payment, and the transactions that cause it. */
export async function drawFates(
  flights: readonly PaymentUnderTest[],
  drawing: Drawing,
): Promise<{ fates: Map<PaymentUnderTest, Fate>; plan: [Hex, number][] }> {
  const { dice, sight, depth, stray } = drawing;
  const first = sight.latest.number - depth + 1;
  const fates = new Map<PaymentUnderTest, Fate>();
  const plan: [Hex, number][] = [];
  // These transfers get another log index, because a stray transaction precedes them in the same block.
  const shifted: [Hex, number][] = [];
  for (const flight of flights) {
    const fate = drawFate(flight, drawing, first);
    fates.set(flight, fate);
    if (fate.at === null) continue;
    const now = flight.transfers.find(({ hash }) => hash === flight.place?.hash);
    const others = flight.transfers.filter((way) => way !== now);
    const way = fate.name === 'comes by another transaction' || now === undefined ? dice.pick(others) : now;
    const isShifted = fate.name === 'changes its log index';
    if (isShifted) shifted.push([await stray(first - 1), fate.at]);
    (isShifted ? shifted : plan).push([way.raw, fate.at]);
  }
  return { fates, plan: [...plan, ...shifted] };
}

function drawFate(flight: PaymentUnderTest, { dice, sight, depth }: Drawing, first: number): Fate {
  const { place, transfers, isX402, end } = flight;
  const room = isX402 ? Math.min(depth, end - timeOf(first, sight)) : depth;
  if (place === null) {
    return room > 0 && dice.chance(0.12) ? { name: 'appears', at: dice.number(room) } : { name: 'waits', at: null };
  }
  if (place.block < first) return { name: 'untouched', at: null };
  const at = place.block - first;
  const names: FateName[] = ['vanishes', 'changes its log index', 'stays'];
  if (room > 1) names.push('moves', 'moves');
  if (transfers.length > 1) names.push('comes by another transaction');
  const name = dice.pick(names);
  if (name === 'vanishes') return { name, at: null };
  if (name !== 'moves') return { name, at };
  const other = dice.number(room - 1);
  return { name, at: other < at ? other : other + 1 };
}

/** Returns the time of a block, at one second per block. */
const timeOf = (block: number, { latest }: Sight): number => latest.time - (latest.number - block);

interface Line {
  key: string;
  status: string;
  tx_hash: string | null;
  block_hash: string | null;
  block_number: bigint | null;
  log_index: number | null;
  delivered: bigint;
}

const STATUS = { paid: 'completed', unpaid: 'unpaid', review: 'needs_review' } as const;

/** Checks that every payment has the expected state and that proofs name their latest position in the chain. */
export async function compareLedger(database: Database, flights: readonly PaymentUnderTest[]): Promise<void> {
  const lines = await database.rows<Line>(sql`
    select encode(coalesce(p.nonce, p.intent_id), 'hex') as key,
      case when p.status in ('verifying', 'settling') then 'open' else p.status end as status,
      '0x' || encode(f.tx_hash, 'hex') as tx_hash, '0x' || encode(f.block_hash, 'hex') as block_hash, f.block_number, f.log_index,
      (select count(*) from purchases b where b.payment_id = p.id) + (select count(*) from fees b where b.payment_id = p.id) as delivered
    from payments p left join payment_proofs f on f.payment_id = p.id order by key`);
  const found = lines.map((line) => ({
    ...line,
    block_number: line.block_number && Number(line.block_number),
    delivered: Number(line.delivered),
  }));
  const wanted = flights
    .filter(({ isOpened }) => isOpened)
    .map(({ key, ending, place }) => {
      const proof = ending === 'paid' || ending === 'review' ? place : null;
      return {
        ...{ key, status: ending === null ? 'open' : STATUS[ending], tx_hash: proof?.hash ?? null },
        ...{
          block_hash: proof?.blockHash ?? null,
          block_number: proof?.block ?? null,
          log_index: proof?.logIndex ?? null,
        },
        delivered: ending === 'paid' ? 1 : 0,
      };
    })
    .sort((one, other) => (one.key < other.key ? -1 : 1));
  expect(found).toEqual(wanted);
}
