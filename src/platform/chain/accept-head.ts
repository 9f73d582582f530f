import type { Log } from '../log.ts';
import type { ProviderHealth, ProvidersHealth } from './providers.ts';
import { type Block, readBlock, readChainId } from './reads.ts';
import { type Rpc, RpcFailure } from './rpc.ts';
import type { FinalizedHead } from './sighting.ts';

export interface HeadReading {
  latest: FinalizedHead;
  finalized: FinalizedHead | null;
  /** The finalized block, read again by its number. */
  reread: FinalizedHead | null;
  /** The block at the watermark's number, read by number. Null without a watermark, or if the provider does not have that block. */
  atWatermark: FinalizedHead | null;
}

/** The highest finalized block accepted so far. `acceptedAt` is in milliseconds. */
export interface Watermark extends FinalizedHead {
  acceptedAt: number;
}

type Implausible = 'no_finalized' | 'beyond_latest' | 'not_canonical' | 'newer_than_clock' | 'too_young';

export type HeadVerdict =
  | { accepted: FinalizedHead }
  | { unknown: Implausible | 'outruns_time' }
  | { unknown: 'behind_watermark' | 'watermark_contradicted'; alarm: true };

/**
 * Finality may advance by this much more than our clock when batches catch up. A provider that exceeds this reports young blocks as final.
 */
const CATCH_UP_SECONDS = 600;

/** Decides whether to believe a provider's finalized head. Pure. Times are in milliseconds unless the name says otherwise. */
export function acceptHead(
  reading: HeadReading,
  watermark: Watermark | null,
  now: number,
  minAgeSeconds: number,
): HeadVerdict {
  const checked = checkClaim(reading, now, minAgeSeconds);
  if ('implausible' in checked) return { unknown: checked.implausible };
  const { finalized } = checked;
  if (watermark === null) return { accepted: finalized };
  if (reading.atWatermark === null || reading.atWatermark.hash !== watermark.hash) {
    return finalized.number < watermark.number
      ? { unknown: 'behind_watermark', alarm: true }
      : { unknown: 'watermark_contradicted', alarm: true };
  }
  if (minAgeSeconds > 0 && isFasterThanClock(finalized, watermark, now)) return { unknown: 'outruns_time' };
  // The provider's finalized tag lags, but its chain still holds the watermark's block, and a final block stays final.
  if (finalized.number < watermark.number) return { accepted: watermark };
  return { accepted: finalized };
}

/** Checks that a provider's finalized block agrees with its own chain and with our clock. */
export function checkClaim(
  { latest, finalized, reread }: Omit<HeadReading, 'atWatermark'>,
  now: number,
  minAgeSeconds: number,
): { finalized: FinalizedHead } | { implausible: Implausible } {
  if (finalized === null) return { implausible: 'no_finalized' };
  if (finalized.number > latest.number) return { implausible: 'beyond_latest' };
  if (reread === null || reread.hash !== finalized.hash) return { implausible: 'not_canonical' };
  if (Number(finalized.timestamp) * 1000 > now) return { implausible: 'newer_than_clock' };
  if (minAgeSeconds > 0 && Number(finalized.timestamp) * 1000 > now - minAgeSeconds * 1000) {
    return { implausible: 'too_young' };
  }
  return { finalized };
}

function isFasterThanClock(finalized: FinalizedHead, watermark: Watermark, now: number): boolean {
  const advanced = Number(finalized.timestamp - watermark.timestamp) * 1000;
  return advanced > now - watermark.acceptedAt + CATCH_UP_SECONDS * 1000;
}

/** Reads a provider's chain id and the blocks that `acceptHead` needs. */
export async function readProviderHead(
  rpc: Rpc,
  watermark: Pick<FinalizedHead, 'number'> | null,
): Promise<HeadReading & { chainId: bigint; latest: Block }> {
  const [chainId, finalized, latest, atWatermark] = await Promise.all([
    readChainId(rpc),
    readBlock(rpc, 'finalized'),
    readBlock(rpc, 'latest'),
    watermark && readBlock(rpc, watermark.number),
  ]);
  if (latest === null) throw new RpcFailure('malformed', `${rpc.endpoint} has no latest block`);
  // The finalized block is still the watermark's block, which was just read by its number.
  const isWatermark = finalized !== null && finalized.number === watermark?.number;
  const reread = isWatermark ? atWatermark : finalized && (await readBlock(rpc, finalized.number));
  return { chainId, latest, finalized, reread, atWatermark };
}

/** Logs an alarm only when it begins, because the head is read many times while the alarm lasts. */
export function noteVerdict(
  log: Log,
  health: ProviderHealth,
  why: Extract<HeadVerdict, { unknown: string }>['unknown'] | 'wrong_chain' | null,
  isAlarm: boolean,
): void {
  if (health.noteRefusal(why) && isAlarm) {
    log.error('chain_head_refused', { why, endpoint: health.provider.endpoint });
  }
}

/** Returns the first head for which `isEnough` holds, else the first one read. Throws RpcFailure if no provider answers. */
export async function readLeadingHead<Head>(
  providerHealth: Pick<ProvidersHealth, 'leaders'>,
  read: (health: ProviderHealth) => Promise<Head>,
  isEnough: (head: Head) => boolean,
): Promise<Head> {
  let fallback: { head: Head } | null = null;
  let failure: unknown = null;
  for (const health of providerHealth.leaders()) {
    // Once a provider has answered, skip those that are failing.
    if (fallback !== null && health.isFailing()) continue;
    try {
      const head = await read(health);
      if (isEnough(head)) return head;
      fallback ??= { head };
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      health.noteSilence();
      failure ??= error;
    }
  }
  if (fallback === null) throw failure;
  return fallback.head;
}
