import sql from 'sql-template-tag';
import { expect } from 'vitest';
import type { Database } from '../../src/platform/database/database.ts';
import type { PaymentUnderTest } from './reorg-payments.ts';

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

/** Every payment stands as it should, and what is proven is proven by its last place in the chain. */
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
