import { BoundMet, mustHaveMemory } from '../bounds.ts';
import type { PublicBooks } from '../keep-state.ts';
import type { Market } from './ask-market.ts';
import { type Fields, faultOfPage, readFields } from './read-fields.ts';

export interface Fee {
  id: number;
  listingId: number | null;
  units: bigint;
  txHash: string;
  isAuthorized: boolean;
  /** Time of the block in milliseconds. */
  blockTime: number;
}

export interface PublicFees {
  /** New fees since the state, newest first. */
  fees: Fee[];
  /** Sum of all fees, including those before the state. */
  units: bigint;
  lastId: number;
  faults: string[];
}

export interface FeesOrder {
  market: Market;
  before: Pick<PublicBooks, 'fee_id' | 'fees_units'> | null;
  most: number;
  say(progress: string): void;
}

const PAGE = 50;

interface Page {
  fees: Fee[];
  count: number;
  collected: string;
  hasMore: boolean;
}

/** A page of the treasury contradicts itself or an earlier page. */
class FeesRefused extends Error {
  constructor(fault: string) {
    super(`the treasury's books contradict themselves: ${fault}`);
  }
}

/** Reads the treasury's fees down to the one that the state remembers. Their sum must match what the market says it collected. */
export async function readFees(order: FeesOrder): Promise<PublicFees> {
  try {
    return await walkFees(order);
  } catch (error) {
    if (!(error instanceof FeesRefused)) throw error;
    return { fees: [], units: 0n, lastId: order.before?.fee_id ?? 0, faults: [error.message] };
  }
}

async function walkFees({ market, before, most, say }: FeesOrder): Promise<PublicFees> {
  const rememberedId = before?.fee_id ?? 0;
  const first = await readPage(market, undefined);
  if (first.count > most)
    throw new BoundMet(
      `the treasury says ${first.count} fees, and at most ${most} are read. Allow more with --max-events`,
    );
  const fees: Fee[] = [];
  for (let page = first; ; ) {
    if (page !== first) mustGoOn(fees, page, first);
    fees.push(...page.fees);
    say(`${fees.length} fees`);
    mustHaveMemory();
    const oldest = page.fees.at(-1)?.id ?? 0;
    if (!page.hasMore || oldest <= rememberedId) break;
    page = await readPage(market, oldest);
  }
  const newest = fees[0]?.id ?? 0;
  const fresh = fees.filter(({ id }) => id > rememberedId);
  const units = fresh.reduce((sum, fee) => sum + fee.units, BigInt(before?.fees_units ?? 0));
  const faults = [
    ...(newest < rememberedId ? [`the treasury's books have no fee ${rememberedId}, which the state remembers`] : []),
    ...(units.toString() === first.collected
      ? []
      : [`the fees add up to ${units} units, and the treasury says ${first.collected}`]),
  ];
  return { fees: fresh, units, lastId: Math.max(newest, rememberedId), faults };
}

/** Throws unless ids fall from page to page and rows stay within the count of the first page, so that the loop ends. */
function mustGoOn(fees: readonly Fee[], page: Page, first: Page): void {
  const [next] = page.fees;
  const last = fees.at(-1);
  if (next !== undefined && last !== undefined && next.id >= last.id)
    throw new FeesRefused(`fee ${next.id} comes after fee ${last.id}`);
  if (page.count < first.count) throw new FeesRefused(`they have ${page.count} fees after they had ${first.count}`);
  if (fees.length + page.fees.length > first.count) throw new FeesRefused(`they have more than ${first.count} fees`);
}

async function readPage(market: Market, before: number | undefined): Promise<Page> {
  const body = readFields(await market.must('/treasury', { limit: PAGE, before_id: before }), 'the treasury');
  const fees = body.rows('recent_fees', PAGE).map(readFee);
  const count = body.count('fees_count');
  const hasMore = body.flag('fees_has_more');
  const counts = { total: count, hasMore, returned: body.count('fees_returned'), size: body.count('fees_page_size') };
  const fault = faultOfPage(counts, fees.length, PAGE) ?? faultOfOrder(fees);
  if (fault !== null) throw new FeesRefused(fault);
  return { fees, count, collected: body.units('fees_collected_usdc'), hasMore };
}

const faultOfOrder = (fees: readonly Fee[]): string | null => {
  const at = fees.findIndex(({ id }, place) => id >= (fees[place - 1]?.id ?? Infinity));
  return at < 0 ? null : `fee ${fees[at]?.id} comes after fee ${fees[at - 1]?.id}`;
};

function readFee(row: Fields): Fee {
  return {
    id: row.id('id'),
    listingId: row.idOrNull('listing_id'),
    units: BigInt(row.units('amount_usdc')),
    txHash: row.hash('tx_hash'),
    isAuthorized: row.word('verified_via') === 'x402',
    blockTime: row.time('block_time'),
  };
}
