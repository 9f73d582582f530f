import sql from 'sql-template-tag';
import type { FinalizedHead } from '../../../platform/chain/sighting.ts';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { toBytes } from '../../../platform/hex.ts';

export type ChainAct = 'resume' | 'reset_watermark';

/** A command as it is written down. */
export interface ChainCommand {
  chainId: bigint;
  act: ChainAct;
  reason: string;
  /** JSON. */
  before: Readonly<Record<string, unknown>>;
  after: Readonly<Record<string, unknown>>;
  now: Date;
}

/** Written first: what a command changes, the database lets happen only in the transaction that holds it. */
export async function writeCommand(tx: Tx, command: ChainCommand): Promise<bigint> {
  const { id } = await tx.one<{ id: bigint }>(
    sql`insert into chain_commands (chain_id, act, reason, before, after, at)
      values (${command.chainId}, ${command.act}, ${command.reason}, ${JSON.stringify(command.before)}::jsonb,
        ${JSON.stringify(command.after)}::jsonb, ${command.now})
      returning id`,
  );
  return id;
}

export async function endHalt(tx: Tx, haltId: bigint, command: { id: bigint; now: Date }): Promise<void> {
  await tx.run(
    sql`update chain_halts set resumed_at = ${command.now}, resumed_by = ${command.id} where id = ${haltId}`,
  );
}

/**
 * `accepted_at` is the block's own time: the pace at which finality may move from there is that of the clock since then, and the head of
 * now is accepted at once.
 */
export async function resetWatermark(tx: Tx, chainId: bigint, to: FinalizedHead): Promise<void> {
  const at = new Date(Number(to.timestamp) * 1_000);
  await tx.run(
    sql`update chain_watermarks set block_number = ${to.number}, block_hash = ${toBytes(to.hash)}, block_time = ${at},
        accepted_at = ${at}, resets = resets + 1 where chain_id = ${chainId}`,
  );
}

export interface PastCommand {
  id: bigint;
  act: ChainAct;
  reason: string;
  at: Date;
}

/** Newest first. */
export async function listCommands(queryable: Queryable, chainId: bigint, limit: number): Promise<PastCommand[]> {
  return queryable.rows<PastCommand>(
    sql`select id, act, reason, at from chain_commands where chain_id = ${chainId} order by id desc limit ${limit}`,
  );
}
