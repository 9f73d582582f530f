import { DOWNLOADS_PER_DAY, OPEN_DOWNLOAD_BYTES } from '../../../contract/uploads.ts';
import { type PartedQuota, type PartsReserved, reserveParts } from '../../../platform/database/quota.ts';
import type { Hex } from '../../../platform/hex.ts';
import { networkLevels } from '../../../platform/http/client-network.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { limitFor } from '../../limits/network-limits.ts';

const DAY_SECONDS = 86_400;
/** Bytes are counted in kibibytes, because a counter has 32 bits. */
const KIB = 1_024;
const MEGABYTE_KIB = 1_024;

/** Taker of goods: a purchase, or without one the seller or an entitled buyer, or anybody for free goods. */
export type Taker = { purchaseId: bigint } | { merchantId: bigint } | { payer: Hex } | { clientNetwork: string };

export interface TakenGoods {
  listingId: bigint;
  bytes: number;
  taker: Taker;
}

type Counting = Pick<Market, 'config' | 'database' | 'clock' | 'log'>;

export interface DownloadReservation {
  /** Call once, with the bytes that were sent. Never throws. */
  end(sent: number): Promise<void>;
}

/** Counts bytes that are about to be sent. Throws if this taker has had its share of the day. */
export async function reserveDownload(
  market: Counting,
  goods: TakenGoods,
  bytes: number,
): Promise<DownloadReservation> {
  const reserved: PartsReserved[] = [];
  const end = async (sent: number): Promise<void> => {
    try {
      for (const one of reserved) await one.adjustTo(kibOf(sent));
    } catch (error) {
      // The answer has been sent. The buyer only loses a part of the day's share.
      market.log.warn('download_not_counted', { error });
    }
  };
  try {
    for (const quota of quotasOf(market, goods)) reserved.push(await reserveParts(market, quota, kibOf(bytes)));
  } catch (error) {
    await end(0);
    throw error instanceof Refusal ? explainRefusal(error, goods) : error;
  }
  return { end };
}

function quotasOf(market: Counting, { listingId, bytes, taker }: TakenGoods): PartedQuota[] {
  if ('clientNetwork' in taker) {
    return bytes <= OPEN_DOWNLOAD_BYTES ? [] : openQuotasOf(market, listingId, taker.clientNetwork);
  }
  const name = 'downloads_per_purchase_day';
  const subject = subjectOf(taker, listingId);
  return [{ name, subject, limit: DOWNLOADS_PER_DAY, perUnit: kibOf(bytes), windowSeconds: DAY_SECONDS }];
}

function subjectOf(taker: Exclude<Taker, { clientNetwork: string }>, listingId: bigint): string {
  if ('purchaseId' in taker) return `purchase ${taker.purchaseId}`;
  const who = 'payer' in taker ? `payer ${taker.payer}` : `merchant ${taker.merchantId}`;
  return `listing ${listingId} ${who}`;
}

/** The network's own quota, and that of the site around it. */
function openQuotasOf({ config }: Counting, listingId: bigint, clientNetwork: string): PartedQuota[] {
  const name = 'free_download_megabytes_per_ip_day';
  const { limits, clientNetworkLimits } = config;
  const limit = limitFor(clientNetworkLimits, name, clientNetwork, limits);
  const { site } = networkLevels(clientNetwork);
  const quotaOf = (network: string, megabytes: number): PartedQuota => ({
    ...{ name, subject: `listing ${listingId} ${network}`, limit: megabytes },
    ...{ perUnit: MEGABYTE_KIB, windowSeconds: DAY_SECONDS },
  });
  const own = quotaOf(clientNetwork, limit);
  return site === clientNetwork ? [own] : [own, quotaOf(site, limit * limits.networks_per_site)];
}

function explainRefusal({ reason, options }: Refusal, { taker }: TakenGoods): Refusal {
  if ('clientNetwork' in taker) {
    const nextStep = 'Send a merchant key, which has a share of its own, or continue after the time in Retry-After.';
    return new Refusal(reason, { ...options, doNotPayAgain: false, nextStep });
  }
  const nextStep = `Goods are sent ${DOWNLOADS_PER_DAY} times a day to each buyer. Continue after the time in Retry-After.`;
  return new Refusal(reason, { ...options, doNotPayAgain: true, nextStep });
}

function kibOf(bytes: number): number {
  return Math.ceil(bytes / KIB);
}
