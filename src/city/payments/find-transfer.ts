import { fitsOneQuery } from '../../platform/chain/log-span.ts';
import type { ProviderHealth } from '../../platform/chain/providers.ts';
import { type Block, type Log, readBlock } from '../../platform/chain/reads.ts';
import { type Rpc, RpcFailure } from '../../platform/chain/rpc.ts';
import { blocksBetween, searchLogs } from '../../platform/chain/search-logs.ts';
import { findObjections, type Objections, readChainAndLatest } from '../../platform/chain/second-provider.ts';
import { addressTopic, decodeTransfer, TRANSFER_TOPIC } from '../../platform/chain/usdc.ts';
import type { Hex } from '../../platform/hex.ts';
import type { City } from '../context.ts';
import type { ClaimTerms } from './decide-claim.ts';
import type { ChainHead } from './read-evidence.ts';

export type WindowReading = 'not_over' | 'unreadable' | { transfer: Hex | null };

type Terms = ClaimTerms & { openedBlock: bigint };

/**
 * Searches the window for a fitting transfer, claimed or not, also in blocks that are not final. One provider is enough to find it. The
 * result is that there is none only if every voting provider has searched up to a block at or after the window's end.
 */
export async function findTransfer(
  { log, providerHealth }: Pick<City, 'log' | 'providerHealth'>,
  head: ChainHead,
  terms: Terms,
): Promise<WindowReading> {
  // Do not give up an offer because of a provider that is on the wrong chain, or that contradicts a final block.
  if (head.chainId !== terms.chainId || head.floor === null) return 'unreadable';
  if (head.latest.timestamp < terms.windowTo) return 'not_over';
  const reading = await tryToScan(log, head.provider, head.latest, terms);
  if (reading === 'unreadable' || reading.transfer !== null) return reading;
  const others = providerHealth.all.filter(({ provider }) => provider !== head.provider);
  const elsewhere: Hex[] = [];
  const askOne = async (health: ProviderHealth): Promise<Objections<'window'>> => {
    const { chainId, latest } = await readChainAndLatest(health);
    if (chainId !== terms.chainId) return new Map([['window', 'disagrees']]);
    health.noteHead(latest);
    if (latest.timestamp < terms.windowTo) return new Map([['window', 'behind']]);
    const transfer = await scanWindow(health.provider, latest, terms);
    if (transfer !== null) elsewhere.push(transfer);
    return new Map();
  };
  const objections = await Promise.all(
    others.map((health) => findObjections(providerHealth, health, { about: 'logs', keys: ['window'], askOne })),
  );
  const [first] = elsewhere;
  if (first !== undefined) return { transfer: first };
  if (objections.every(({ size }) => size === 0)) return { transfer: null };
  log.warn('transfer_scan_unconfirmed', { why: objections.flatMap((objection) => [...objection.values()]) });
  return 'unreadable';
}

async function tryToScan(
  log: City['log'],
  rpc: Rpc,
  latest: Block,
  terms: Terms,
): Promise<'unreadable' | { transfer: Hex | null }> {
  try {
    return { transfer: await scanWindow(rpc, latest, terms) };
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    log.warn('transfer_search_failed', { endpoint: rpc.endpoint, error });
    return 'unreadable';
  }
}

/** Returns the first fitting transfer in one provider's blocks up to `latest`. Throws RpcFailure if the search is incomplete. */
async function scanWindow(rpc: Rpc, latest: Block, terms: Terms): Promise<Hex | null> {
  const { asset, payer, payee, openedBlock, windowFrom, windowTo } = terms;
  if (latest.number < openedBlock) throw new RpcFailure('malformed', `${rpc.endpoint} is below what was final before`);
  const all = { fromBlock: openedBlock, toBlock: latest.number };
  // Blocks outside the window contain no fitting transfer.
  const window = { from: windowFrom, before: windowTo };
  const blocks = fitsOneQuery(rpc, all) ? all : await blocksBetween(rpc, all, window);
  const topics = [TRANSFER_TOPIC, addressTopic(payer), addressTopic(payee)];
  const logs = await searchLogs(rpc, { address: asset, topics, ...blocks });
  for (const log of logs) if (await isFitting(rpc, log, terms)) return log.transactionHash;
  const last = await readBlock(rpc, latest.number);
  // A node that lags, or has switched chains meanwhile, has not searched all blocks.
  if (last?.hash !== latest.hash) {
    throw new RpcFailure('malformed', `${rpc.endpoint} does not have the block that it called its latest`);
  }
  return null;
}

async function isFitting(rpc: Rpc, log: Log, terms: Terms): Promise<boolean> {
  const transfer = decodeTransfer(log);
  if (transfer === null || transfer.value < terms.minimumUnits) return false;
  const block = await readBlock(rpc, log.blockNumber);
  if (block === null || block.hash !== log.blockHash || log.removed) {
    throw new RpcFailure('malformed', `${rpc.endpoint} has a log of a block that is not its own`);
  }
  return block.timestamp >= terms.windowFrom && block.timestamp < terms.windowTo;
}
