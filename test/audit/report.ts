import type { Audit } from './audit.ts';
import type { Incoming } from './incoming.ts';
import type { MarketAudit } from './public/audit-market.ts';

function usdc(units: string | bigint): string {
  const value = BigInt(units);
  const fraction = (value % 1_000_000n).toString().padStart(6, '0').replace(/0+$/, '');
  return `${value / 1_000_000n}${fraction === '' ? '' : `.${fraction}`} USDC`;
}

/** Number of senders listed in the text report. The JSON has all of them. */
const SENDERS = 20;

/** Lists transfers that are not in the books. */
function linesOfIncoming(name: string, found: Incoming): string[] {
  const { wallets, transfers, booked, surplus, unbooked } = found;
  const total = surplus.reduce((sum, { units }) => sum + BigInt(units), 0n);
  const rest = transfers - booked;
  const surplusText = rest === 0 ? '' : `, ${rest} in no book (surplus): ${usdc(total)} from ${surplus.length} senders`;
  return [
    `${name}: ${wallets} wallets, ${transfers} transfers, ${booked} in the books${surplusText}`,
    ...unbooked.map(
      ({ tx_hash, sender, units, block }) =>
        `  in no book: ${tx_hash}, ${usdc(units)} from ${sender} in block ${block}`,
    ),
    ...surplus
      .slice(0, SENDERS)
      .map(({ sender, transfers: times, units }) => `  surplus from ${sender}: ${times} transfers, ${usdc(units)}`),
    ...(surplus.length > SENDERS ? [`  and ${surplus.length - SENDERS} more senders`] : []),
  ];
}

function linesOfBlocks(blocks: { chain_id: string; from: number; to: number } | null): string {
  if (blocks === null) return 'transfers: none were looked for, as the books name no block and no time';
  const { chain_id, from, to } = blocks;
  if (from > to) return `transfers: no block of chain ${chain_id} has become final since block ${to}`;
  return `transfers: blocks ${from} to ${to} (finalized) of chain ${chain_id}`;
}

/** Counts listings for which the log promises too little to check them. */
function linesOfPromises(priceOnly: number): string[] {
  if (priceOnly === 0) return [];
  return [`promises: ${priceOnly} listings promise only a price; their wallets and goods are held against nothing`];
}

export function reportOf(found: Audit): string[] {
  const { log, artifacts } = found;
  const hashed =
    log.hashed_from === null ? 'no row carries its hash' : `hashes in the rows from event ${log.hashed_from}`;
  const ids = log.first_id === null ? 'none numbered' : `ids ${log.first_id} to ${log.last_id}`;
  return [
    `books: ${found.payments} payments (${found.checked} held against the chain), ${found.proofs} proofs, ${found.fees} fees, ${found.purchases} purchases, ${found.listings} listings`,
    ...(found.elsewhere === 0 ? [] : [`not looked at: ${found.elsewhere} payments on other chains`]),
    `log: ${log.events} events, ${ids}, running hash ${log.running_hash || 'none'}, ${hashed}`,
    ...linesOfPromises(found.price_only),
    `artifacts: ${artifacts.count - artifacts.elsewhere - artifacts.erased} held against their commitments, ${artifacts.bytes} bytes`,
    ...(artifacts.erased === 0 ? [] : [`erased: ${artifacts.erased} artifacts, as the log says`]),
    ...(artifacts.elsewhere === 0 ? [] : [`not looked at: ${artifacts.elsewhere} artifacts in the S3 store`]),
    linesOfBlocks(found.blocks),
    ...(found.treasuries.length === 0
      ? ['treasury: the books name none, as no fee was ever asked for; name it with --treasury']
      : linesOfIncoming(`treasury ${found.treasuries.join(', ')}`, found.to_treasury)),
    ...linesOfIncoming('sellers', found.to_sellers),
    ...found.faults.map((fault) => `FAULT: ${fault}`),
    `${found.faults.length} faults`,
  ];
}

export function reportOfMarket(found: MarketAudit): string[] {
  const { log, sales, fees } = found;
  return [
    `market: ${found.market}`,
    `log: ${log.read} events ${log.whole ? 'from the first on' : 'since the state'}, the last ${log.last_id ?? 'none'}, running hash ${log.running_hash ?? 'none'}`,
    `sales: ${sales.told} told of, ${sales.proven} by a final transfer of their own, ${sales.free} free`,
    `fees: ${fees.read} read, ${fees.proven} by a final transfer of their own, ${usdc(fees.units)} in all`,
    `listings: ${found.listings} held against the log`,
    ...linesOfPromises(found.promises.price_only),
    linesOfBlocks(found.blocks),
    ...linesOfIncoming(`treasury ${found.treasuries.join(', ')}`, found.to_treasury),
    ...linesOfIncoming('sellers', found.to_sellers),
    ...found.faults.map((fault) => `FAULT: ${fault}`),
    `${found.faults.length} faults`,
  ];
}
