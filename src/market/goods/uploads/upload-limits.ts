import { MOST_OPEN_UPLOADS } from '../../../contract/uploads.ts';
import type { Client, Reservation } from '../../../platform/budget.ts';
import { readFreeBytes } from '../../../platform/data-folder.ts';
import type { Tx } from '../../../platform/database/database.ts';
import { whyUnavailable } from '../../../platform/database/database-error.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market, Merchant } from '../../context.ts';
import type { Budgets } from '../../limits/budgets.ts';
import { MOUNT_MS } from '../../limits/limit-requests.ts';
import { mostStagedBytes } from './list-uploads.ts';
import { hasPaidFee, readGoodsBytes, readNewcomerBytes, readStaged } from './store.ts';

const MEGABYTE = 1_000_000;
/** Each request counts as so many bytes at least, because its rows and its checks cost as much. */
const LEAST_BYTES = 65_536;
const RETRY_SECONDS = 300;

function toMegabytes(bytes: number): number {
  return Math.max(bytes, LEAST_BYTES) / MEGABYTE;
}

export interface UploadBudget {
  /** Counts a request that brings no bytes. Throws if the merchant's limit is used up. */
  takeRead(merchant: Pick<Merchant, 'id'>): void;
  /** Reserves the bytes that a request announces. Throws if a limit is used up. */
  take(from: { merchant: Pick<Merchant, 'id'>; clientNetwork: string }, bytes: number): Promise<UploadReservation>;
}

export interface UploadReservation {
  /** Call once, with the bytes that arrived. */
  adjustTo(bytes: number): void;
}

/** Counts megabytes by merchant if it has paid a fee, else by network, so that strangers cannot use up the share of those who sell. */
export function createUploadBudget(
  market: Pick<Market, 'database'>,
  { uploads, readMs }: Pick<Budgets, 'uploads' | 'readMs'>,
): UploadBudget {
  const accountOf = ({ id }: Pick<Merchant, 'id'>): Client => ({ account: `merchant ${id}` });
  return {
    takeRead: (merchant) => void readMs.take(accountOf(merchant), MOUNT_MS.message),
    take: async ({ merchant, clientNetwork }, bytes) => {
      const isSeller = await hasPaidFee(market.database, merchant.id);
      const client = isSeller ? accountOf(merchant) : { network: clientNetwork };
      const reservation: Reservation = uploads.take(client, toMegabytes(bytes), { doNotPayAgain: false });
      return { adjustTo: (arrived) => reservation.adjustTo(toMegabytes(arrived)) };
    },
  };
}

/** Refuses a new upload beyond what a merchant may have. Call it under the lock of the merchant's uploads. */
export async function checkStaged(
  { config: { limits } }: Pick<Market, 'config'>,
  tx: Tx,
  { merchantId, bytes, now }: { merchantId: bigint; bytes: number; now: Date },
): Promise<void> {
  const staged = await readStaged(tx, merchantId, now);
  const most = mostStagedBytes(limits);
  if (staged.open < MOST_OPEN_UPLOADS && staged.bytes + bytes <= most) return;
  throw new Refusal('too_many_uploads', {
    detail: `${staged.open} of at most ${MOST_OPEN_UPLOADS} are open, and those not listed yet have ${staged.bytes} of at most ${most} bytes.`,
  });
}

function storageFull(detail: string): Refusal {
  return new Refusal('storage_full', { detail, retryAfterSeconds: RETRY_SECONDS });
}

/** Part of the bytes in all that merchants who have paid no fee may have staged together, so that they never keep the others out. */
const NEWCOMER_PART = 0.1;

/** Refuses an upload beyond the bytes that the market keeps in all. */
export async function checkTotal(
  { config, database }: Pick<Market, 'config' | 'database'>,
  { merchantId, bytes }: { merchantId: bigint; bytes: number },
): Promise<void> {
  const most = config.limits.goods_megabytes_total * MEGABYTE;
  if ((await readGoodsBytes(database)) + bytes > most) {
    throw storageFull(`The market keeps at most ${most} bytes of uploaded goods, and these would be more.`);
  }
  if (await hasPaidFee(database, merchantId)) return;
  if ((await readNewcomerBytes(database)) + bytes > most * NEWCOMER_PART) {
    throw storageFull('Merchants who have paid no listing fee yet have staged as much as they may together.');
  }
}

/** Refuses bytes that would use the reserve of the disk. An external database's disk cannot be read from here. */
export async function checkDisk({ config }: Pick<Market, 'config'>, bytes: number): Promise<void> {
  if (config.databaseUrl !== null) return;
  const free = await readFreeBytes(config.dataDir);
  if (free === null || free - bytes >= config.limits.storage_reserve_megabytes * MEGABYTE) return;
  throw storageFull('The disk is almost full, and the rest is kept for purchases.');
}

/** Says that there is no room if that is why the database refused. */
export function refuseIfFull(error: unknown): unknown {
  return whyUnavailable(error) === 'disk_full' ? storageFull('The disk is full.') : error;
}
