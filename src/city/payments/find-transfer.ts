import { fitsOneQuery } from '../../platform/chain/log-span.ts';
import type { ProviderHealth } from '../../platform/chain/providers.ts';
import { type Block, type Log, readBlock } from '../../platform/chain/reads.ts';
import { type Rpc, RpcFailure } from '../../platform/chain/rpc.ts';
import { blocksBetween, searchLogs } from '../../platform/chain/search-logs.ts';
import { findObjections, type Objections, openView } from '../../platform/chain/second-provider.ts';
import { addressTopic, decodeTransfer, TRANSFER_TOPIC } from '../../platform/chain/usdc.ts';
import type { Hex } from '../../platform/hex.ts';
import type { City } from '../context.ts';
import type { ClaimTerms } from './decide-claim.ts';
import type { ChainHead } from './read-evidence.ts';

/** What all who have a say show of a window that is over. */
export type WindowReading = 'not_over' | 'unreadable' | { transfer: Hex | null };

type Terms = ClaimTerms & { openedBlock: bigint };

/**
 * Looks whether anything that fits was transferred in the window, claimed or not, in blocks that need not be final. Only where everybody
 * who has a say has read a block at or after its end, and finds nothing, there is nothing: one word for a transfer is enough.
 */
export async function findTransfer(
  { log, providerHealth }: Pick<City, 'log' | 'providerHealth'>,
  head: ChainHead,
  terms: Terms,
): Promise<WindowReading> {
  // Nothing is given up on the word of another chain, nor of one that took back what was final.
  if (head.chainId !== terms.chainId || head.floor === null) return 'unreadable';
  if (head.latest.timestamp < terms.windowTo) return 'not_over';
  const found = await tryToScan(log, head.provider, head.latest, terms);
  if (found === 'unreadable' || found.transfer !== null) return found;
  const others = providerHealth.all.filter(({ provider }) => provider !== head.provider);
  const elsewhere: Hex[] = [];
  const askOne = async (health: ProviderHealth): Promise<Objections<'window'>> => {
    const { chainId, latest } = await openView(health);
    if (chainId !== terms.chainId) return new Map([['window', 'disagrees']]);
    health.noteHead(latest);
    if (latest.timestamp < terms.windowTo) return new Map([['window', 'behind']]);
    const transfer = await scan(health.provider, latest, terms);
    if (transfer !== null) elsewhere.push(transfer);
    return new Map();
  };
  const objections = await Promise.all(
    others.map((health) => findObjections(providerHealth, health, { about: 'logs', keys: ['window'], askOne })),
  );
  const [first] = elsewhere;
  if (first !== undefined) return { transfer: first };
  if (objections.every(({ size }) => size === 0)) return { transfer: null };
  log.warn('transfer_scan_unconfirmed', { why: objections.flatMap((said) => [...said.values()]) });
  return 'unreadable';
}

async function tryToScan(
  log: City['log'],
  rpc: Rpc,
  latest: Block,
  terms: Terms,
): Promise<'unreadable' | { transfer: Hex | null }> {
  try {
    return { transfer: await scan(rpc, latest, terms) };
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    log.warn('transfer_search_failed', { endpoint: rpc.endpoint, error });
    return 'unreadable';
  }
}

/** The first fitting transfer that one provider has in its blocks up to `latest`. Throws RpcFailure when it cannot say. */
async function scan(rpc: Rpc, latest: Block, terms: Terms): Promise<Hex | null> {
  const { asset, payer, payee, openedBlock, windowFrom, windowTo } = terms;
  if (latest.number < openedBlock) throw new RpcFailure('malformed', `${rpc.endpoint} is below what was final before`);
  const all = { fromBlock: openedBlock, toBlock: latest.number };
  // Blocks before the window, and those that came since, hold nothing that fits.
  const window = { from: windowFrom, before: windowTo };
  const blocks = fitsOneQuery(rpc, all) ? all : await blocksBetween(rpc, all, window);
  const topics = [TRANSFER_TOPIC, addressTopic(payer), addressTopic(payee)];
  const logs = await searchLogs(rpc, { address: asset, topics, ...blocks });
  for (const log of logs) if (await fits(rpc, log, terms)) return log.transactionHash;
  const last = await readBlock(rpc, latest.number);
  // A node that lags, or that switched chains meanwhile, has not told of all blocks.
  if (last?.hash !== latest.hash) {
    throw new RpcFailure('malformed', `${rpc.endpoint} does not have the block that it called its latest`);
  }
  return null;
}

async function fits(rpc: Rpc, log: Log, terms: Terms): Promise<boolean> {
  const transfer = decodeTransfer(log);
  if (transfer === null || transfer.value < terms.minimumUnits) return false;
  const block = await readBlock(rpc, log.blockNumber);
  if (block === null || block.hash !== log.blockHash || log.removed) {
    throw new RpcFailure('malformed', `${rpc.endpoint} has a log of a block that is not its own`);
  }
  return block.timestamp >= terms.windowFrom && block.timestamp < terms.windowTo;
}
