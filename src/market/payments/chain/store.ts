import sql from 'sql-template-tag';
import type { Watermark } from '../../../platform/chain/accept-head.ts';
import type { FinalizedHead } from '../../../platform/chain/sighting.ts';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { toBytes, toHex } from '../../../platform/hex.ts';

interface WatermarkRow {
  block_number: bigint;
  block_hash: Buffer;
  block_time: Date;
  accepted_at: Date;
}

function watermarkOf(row: WatermarkRow): Watermark {
  return {
    number: row.block_number,
    hash: toHex(row.block_hash),
    timestamp: BigInt(row.block_time.getTime() / 1000),
    acceptedAt: row.accepted_at.getTime(),
  };
}

export async function findWatermark(queryable: Queryable, chainId: bigint): Promise<Watermark | null> {
  const row = await queryable.maybe<WatermarkRow>(
    sql`select block_number, block_hash, block_time, accepted_at from chain_watermarks where chain_id = ${chainId}`,
  );
  return row && watermarkOf(row);
}

export interface Halt {
  id: bigint;
  reason: string;
  detail: string;
  haltedAt: Date;
}

/** State of the chain that all processes share. */
export interface ChainState {
  watermark: Watermark | null;
  /** Number of times an operator has reset the watermark. */
  resets: number;
  /** Null unless payments are halted. */
  halt: Halt | null;
}

type Nullable<T> = { [Key in keyof T]: T[Key] | null };
type StateRow = Nullable<
  WatermarkRow & { resets: number; halt_id: bigint; reason: string; detail: string; halted_at: Date }
>;

export async function findChainState(queryable: Queryable, chainId: bigint): Promise<ChainState> {
  const row = await queryable.one<StateRow>(
    sql`select mark.block_number, mark.block_hash, mark.block_time, mark.accepted_at, mark.resets,
        halt.id as halt_id, halt.reason, halt.detail, halt.halted_at
      from (select 1) always left join chain_watermarks mark on mark.chain_id = ${chainId}
      left join (
        select id, 'history_lost' as reason, 'the log ends with event ' || found_id || ', and event ' || copied_id || ' was public' as detail,
          noticed_at as halted_at
        from history_losses where recovered_by is null
        union all
        select id, reason, detail, halted_at from chain_halts where chain_id = ${chainId} and resumed_at is null
        limit 1
      ) halt on true`,
  );
  return { watermark: watermarkIn(row), resets: row.resets ?? 0, halt: haltIn(row) };
}

function watermarkIn({ block_number, block_hash, block_time, accepted_at }: StateRow): Watermark | null {
  if (block_number === null || block_hash === null || block_time === null || accepted_at === null) return null;
  return watermarkOf({ block_number, block_hash, block_time, accepted_at });
}

function haltIn({ halt_id: id, reason, detail, halted_at: haltedAt }: StateRow): Halt | null {
  if (id === null || reason === null || detail === null || haltedAt === null) return null;
  return { id, reason, detail, haltedAt };
}

/** Call inside the transaction that ends a payment, because anything read earlier may predate the halt. */
export async function isHalted(queryable: Queryable, chainId: bigint): Promise<boolean> {
  const { halted } = await queryable.one<{ halted: boolean }>(sql`select payments_are_stopped(${chainId}) as halted`);
  return halted;
}

/** Halts payments in every process. Returns false if they were halted already. */
export async function haltPayments(
  queryable: Queryable,
  halt: { chainId: bigint; reason: string; detail: string; now: Date },
): Promise<boolean> {
  const { chainId, reason, detail, now } = halt;
  const rowCount = await queryable.run(
    sql`insert into chain_halts (chain_id, reason, detail, halted_at) values (${chainId}, ${reason}, ${detail}, ${now})
      on conflict (chain_id) where resumed_at is null do nothing`,
  );
  return rowCount === 1;
}

/**
 * Only moves the watermark forward, so a higher one that another process has written stays. Returns false if an operator has reset the
 * watermark since it was read, because a head accepted against the old one no longer counts.
 */
export async function raiseWatermark(
  queryable: Queryable,
  chainId: bigint,
  head: FinalizedHead,
  reading: { resets: number; now: Date },
): Promise<boolean> {
  const raised = await queryable.maybe<{ resets: number }>(
    sql`insert into chain_watermarks as mark (chain_id, block_number, block_hash, block_time, accepted_at)
      values (${chainId}, ${head.number}, ${toBytes(head.hash)}, ${new Date(Number(head.timestamp) * 1000)}, ${reading.now})
      on conflict (chain_id) do update set block_number = excluded.block_number, block_hash = excluded.block_hash,
        block_time = excluded.block_time, accepted_at = excluded.accepted_at
      where excluded.block_number > mark.block_number and mark.resets = ${reading.resets}
      returning resets`,
  );
  if (raised !== null) return raised.resets === reading.resets;
  // Either a higher watermark is stored or an operator reset it. Ask in a new statement, because this one's snapshot may predate the reset.
  const { resets } = await queryable.one<{ resets: number }>(
    sql`select resets from chain_watermarks where chain_id = ${chainId}`,
  );
  return resets === reading.resets;
}

type ChainAct = 'resume' | 'reset_watermark';

interface ChainCommand {
  chainId: bigint;
  act: ChainAct;
  reason: string;
  before: Readonly<Record<string, unknown>>;
  after: Readonly<Record<string, unknown>>;
  now: Date;
}

/** Call before the change, because the database allows the change only in the transaction that wrote the command. */
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
 * Sets `accepted_at` to the block's own time. From there, finality may advance as fast as the clock, so the current finalized head is
 * accepted at once.
 */
export async function resetWatermark(tx: Tx, chainId: bigint, to: FinalizedHead): Promise<void> {
  const at = new Date(Number(to.timestamp) * 1_000);
  await tx.run(
    sql`update chain_watermarks set block_number = ${to.number}, block_hash = ${toBytes(to.hash)}, block_time = ${at},
        accepted_at = ${at}, resets = resets + 1 where chain_id = ${chainId}`,
  );
}

interface PastCommand {
  id: bigint;
  act: ChainAct;
  reason: string;
  at: Date;
}

/** Returns the newest first. */
export async function listCommands(queryable: Queryable, chainId: bigint, limit: number): Promise<PastCommand[]> {
  return queryable.rows<PastCommand>(
    sql`select id, act, reason, at from chain_commands where chain_id = ${chainId} order by id desc limit ${limit}`,
  );
}
