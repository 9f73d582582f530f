import { linesOfBlocks, linesOfIncoming, usdc } from '../report.ts';
import type { MarketAudit } from './audit-market.ts';

/** The public audit in words: what was looked at, and what was found. */
export function reportOfMarket(found: MarketAudit): string[] {
  const { log, sales, fees } = found;
  return [
    `market: ${found.market}`,
    `log: ${log.read} events ${log.whole ? 'from the first on' : 'since the state'}, the last ${log.last_id ?? 'none'}, running hash ${log.running_hash ?? 'none'}`,
    `sales: ${sales.told} told of, ${sales.proven} by a final transfer of their own, ${sales.free} free`,
    `fees: ${fees.read} read, ${fees.proven} by a final transfer of their own, ${usdc(fees.units)} in all`,
    `listings: ${found.listings} held against the log`,
    linesOfBlocks(found.blocks),
    ...linesOfIncoming(`treasury ${found.treasuries.join(', ')}`, found.to_treasury),
    ...linesOfIncoming('sellers', found.to_sellers),
    ...found.faults.map((fault) => `FAULT: ${fault}`),
    `${found.faults.length} faults`,
  ];
}
