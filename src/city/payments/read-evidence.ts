import {
  acceptHead,
  noteVerdict,
  readLeadingHead,
  readProviderHead,
  type Watermark,
} from '../../platform/chain/accept-head.ts';
import type { Provider, ProviderHealth } from '../../platform/chain/providers.ts';
import { type Block, type Log, readBlock, readLogs, readReceipt } from '../../platform/chain/reads.ts';
import { RpcFailure } from '../../platform/chain/rpc.ts';
import { findObjections, type Objection, objectToMined } from '../../platform/chain/second-provider.ts';
import { type FinalizedHead, isStillFinal, type TransferEvidence } from '../../platform/chain/sighting.ts';
import { addressTopic, TRANSFER_TOPIC } from '../../platform/chain/usdc.ts';
import type { Hex } from '../../platform/hex.ts';
import type { City } from '../context.ts';
import { type ClaimTerms, decideClaim } from './decide-claim.ts';
import { findWatermark, raiseWatermark } from './store.ts';

/** By transaction; one that could not be read is left out. */
export type ClaimReading = ReadonlyMap<Hex, TransferEvidence>;

/**
 * What claimed transactions show, all from the provider whose head leads. What would decide is then shown to the others; where they do
 * not bear it out it comes back as evidence that decides nothing.
 */
export async function readClaims(
  city: Pick<City, 'log' | 'providerHealth'>,
  head: ChainHead,
  terms: ClaimTerms,
  hashes: readonly Hex[],
): Promise<ClaimReading> {
  const read = await Promise.all(hashes.map(async (hash) => [hash, await tryToRead(city, head, terms, hash)] as const));
  const reading = new Map(read.flatMap(([hash, evidence]) => (evidence === null ? [] : [[hash, evidence]])));
  const corroborated = await corroborate(city, head, terms, reading);
  if (corroborated.size === 0 || (await isStillFinalOrUnread(head))) return corroborated;
  return new Map([...corroborated].map(([hash, evidence]) => [hash, { ...evidence, finalized: null }]));
}

async function tryToRead(
  { log }: Pick<City, 'log'>,
  head: ChainHead,
  terms: ClaimTerms,
  hash: Hex,
): Promise<TransferEvidence | null> {
  try {
    return await readClaim(head, terms, hash);
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    log.warn('claim_unreadable', { tx_hash: hash, error });
    return null;
  }
}

async function readClaim(head: ChainHead, terms: ClaimTerms, hash: Hex): Promise<TransferEvidence> {
  const { provider, chainId, finalized } = head;
  const receipt = await readReceipt(provider, hash);
  if (receipt === null) return { chainId, finalized, receipt, block: null, transfersInBlock: [] };
  const { asset: address, payer, payee } = terms;
  const { blockHash } = receipt;
  const [block, fromPayer, toPayee] = await Promise.all([
    readBlock(provider, receipt.blockNumber),
    readLogs(provider, { address, topics: [TRANSFER_TOPIC, addressTopic(payer)], blockHash }),
    readLogs(provider, { address, topics: [TRANSFER_TOPIC, null, addressTopic(payee)], blockHash }),
  ]);
  return { chainId, finalized, receipt, block, transfersInBlock: [...fromPayer, ...toPayee.filter(isNotFrom(payer))] };
}

/** What went from the one to the other is in both answers. */
function isNotFrom(payer: Hex): (log: Log) => boolean {
  return (log) => log.topics[1] !== addressTopic(payer);
}

async function isStillFinalOrUnread(head: ChainHead): Promise<boolean> {
  try {
    return await isStillFinal(head.provider, head);
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return false;
  }
}

/**
 * Every other configured provider is asked before anything final is done: it has to have the block, and to show the same in it. One that
 * has been silent or has stood still for a minute has no say (W9). What is not borne out keeps its sighting and decides nothing.
 */
async function corroborate(
  { log, providerHealth }: Pick<City, 'log' | 'providerHealth'>,
  head: ChainHead,
  terms: ClaimTerms,
  reading: ReadonlyMap<Hex, TransferEvidence>,
): Promise<ReadonlyMap<Hex, TransferEvidence>> {
  const others = providerHealth.all.filter(({ provider }) => provider !== head.provider);
  const finals = [...reading].filter(([, evidence]) => decideClaim(evidence, terms).outcome !== 'unknown');
  if (others.length === 0 || finals.length === 0) return reading;
  const corroborated = new Map(reading);
  const request = {
    about: 'receipts' as const,
    keys: finals.map(([hash]) => hash),
    askOne: (health: ProviderHealth) => objectToMined(health, head, terms.asset, finals),
  };
  await Promise.all(
    others.map(async (health) => {
      for (const [hash, why] of await findObjections(providerHealth, health, request)) {
        const evidence = reading.get(hash);
        if (evidence !== undefined) corroborated.set(hash, { ...evidence, finalized: null });
        note(log, health, hash, why);
      }
    }),
  );
  return corroborated;
}

const MOST_REPORTED = 1_000;
/** What was said already: it is asked again and again while it lasts. */
const reported = new WeakMap<ProviderHealth, Map<Hex, Objection>>();

function note(log: City['log'], health: ProviderHealth, hash: Hex, why: Objection): void {
  const before = reported.get(health) ?? new Map<Hex, Objection>();
  if (before.get(hash) === why) return;
  if (before.size >= MOST_REPORTED) before.clear();
  reported.set(health, before.set(hash, why));
  const fields = { tx_hash: hash, why, endpoint: health.provider.endpoint };
  if (why === 'disagrees') {
    health.noteDisagreement();
    log.error('claim_unconfirmed', fields);
  } else log.warn('claim_unconfirmed', fields);
}

export interface ChainHead {
  /** Who says so: whatever is decided with this head is asked of the same. */
  provider: Provider;
  chainId: bigint;
  latest: Block;
  /** Null while the provider's finalized head is not believed. */
  finalized: FinalizedHead | null;
  /**
   * The highest block that was ever believed to be final. Null before the first, on another chain, and while the provider contradicts it:
   * then nothing is begun or given up on its word.
   */
  floor: FinalizedHead | null;
}

export type HeadContext = Pick<City, 'database' | 'clock' | 'log' | 'config' | 'providerHealth'>;

/**
 * The heads as the leading provider has them now: the first whose finalized head is believed. An accepted one is the watermark before
 * anybody relies on it. Throws RpcFailure while no provider's head can be read.
 */
export async function readHead(city: HeadContext): Promise<ChainHead> {
  const watermark = await findWatermark(city.database, city.config.network.chainId);
  const read = (health: ProviderHealth): Promise<ChainHead> => readHeadOf(city, health, watermark);
  return await readLeadingHead(city.providerHealth, read, ({ finalized }) => finalized !== null);
}

async function readHeadOf(city: HeadContext, health: ProviderHealth, watermark: Watermark | null): Promise<ChainHead> {
  const { database, clock, config, log } = city;
  const { provider } = health;
  const { chainId, ...reading } = await readProviderHead(provider, watermark);
  const found = { provider, chainId, latest: reading.latest };
  if (chainId !== config.network.chainId) {
    noteVerdict(log, health, 'wrong_chain', true);
    return { ...found, finalized: null, floor: null };
  }
  health.noteHead(reading.latest);
  const verdict = acceptHead(reading, watermark, clock.now(), config.finalityMinAgeSeconds);
  noteVerdict(log, health, 'unknown' in verdict ? verdict.unknown : null, 'alarm' in verdict);
  if ('unknown' in verdict) return { ...found, finalized: null, floor: 'alarm' in verdict ? null : watermark };
  const { accepted } = verdict;
  if (watermark === null || accepted.number > watermark.number) {
    await raiseWatermark(database, chainId, accepted, new Date(clock.now()));
  }
  return { ...found, finalized: accepted, floor: accepted };
}
