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
import { findObjections, type Objection, objectionsToMined } from '../../platform/chain/second-provider.ts';
import { type FinalizedHead, isStillFinal, type TransferEvidence } from '../../platform/chain/sighting.ts';
import { addressTopic, TRANSFER_TOPIC } from '../../platform/chain/usdc.ts';
import type { Hex } from '../../platform/hex.ts';
import type { City } from '../context.ts';
import { type ClaimTerms, decideClaim } from './decide-claim.ts';
import { findWatermark, raiseWatermark } from './store.ts';

/** Evidence by transaction hash. Leaves out transactions that could not be read. */
export type ClaimReading = ReadonlyMap<Hex, TransferEvidence>;

/**
 * Reads the evidence of claimed transactions from the leading provider, then asks the others to confirm any that would decide. Unconfirmed
 * evidence is returned without its finality, so that it decides nothing.
 */
export async function readClaims(
  city: Pick<City, 'log' | 'providerHealth'>,
  head: ChainHead,
  terms: ClaimTerms,
  hashes: readonly Hex[],
): Promise<ClaimReading> {
  const read = await Promise.all(hashes.map(async (hash) => [hash, await tryToRead(city, head, terms, hash)] as const));
  const reading = new Map(read.flatMap(([hash, evidence]) => (evidence === null ? [] : [[hash, evidence]])));
  const corroborated = await corroborateClaims(city, head, terms, reading);
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

/** A transfer from payer to payee is in the answers to both queries, so one of them skips it. */
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
 * Asks every other configured provider before a final decision. Each must have the block and show the same receipt and transfers. A
 * provider that was silent or did not advance for a minute does not vote. Unconfirmed evidence keeps its sighting and decides nothing.
 */
async function corroborateClaims(
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
    askOne: (health: ProviderHealth) => objectionsToMined(health, head, terms.asset, finals),
  };
  await Promise.all(
    others.map(async (health) => {
      for (const [hash, why] of await findObjections(providerHealth, health, request)) {
        const evidence = reading.get(hash);
        if (evidence !== undefined) corroborated.set(hash, { ...evidence, finalized: null });
        noteObjection(log, health, hash, why);
      }
    }),
  );
  return corroborated;
}

const MAX_REPORTED_OBJECTIONS = 1_000;
/** Objections already logged, because the same question is repeated while an objection lasts. */
const reported = new WeakMap<ProviderHealth, Map<Hex, Objection>>();

function noteObjection(log: City['log'], health: ProviderHealth, hash: Hex, why: Objection): void {
  const before = reported.get(health) ?? new Map<Hex, Objection>();
  if (before.get(hash) === why) return;
  if (before.size >= MAX_REPORTED_OBJECTIONS) before.clear();
  reported.set(health, before.set(hash, why));
  const fields = { tx_hash: hash, why, endpoint: health.provider.endpoint };
  if (why === 'disagrees') {
    health.noteDisagreement();
    log.error('claim_unconfirmed', fields);
  } else log.warn('claim_unconfirmed', fields);
}

export interface ChainHead {
  /** The provider of this head. Everything decided with the head is read from the same provider. */
  provider: Provider;
  chainId: bigint;
  latest: Block;
  /** Null while the provider's finalized head is not accepted. */
  finalized: FinalizedHead | null;
  /**
   * Highest finalized block ever accepted. Null before the first one, on a wrong chain, and while the provider contradicts it. Nothing may
   * then begin or be given up because of this provider.
   */
  floor: FinalizedHead | null;
}

export type HeadContext = Pick<City, 'database' | 'clock' | 'log' | 'config' | 'providerHealth'>;

/**
 * Reads the heads from the leading provider, which is the first whose finalized head is accepted. Stores an accepted head as watermark
 * before anybody relies on it. Throws RpcFailure if no provider's head can be read.
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
  const common = { provider, chainId, latest: reading.latest };
  if (chainId !== config.network.chainId) {
    noteVerdict(log, health, 'wrong_chain', true);
    return { ...common, finalized: null, floor: null };
  }
  health.noteHead(reading.latest);
  const verdict = acceptHead(reading, watermark, clock.now(), config.finalityMinAgeSeconds);
  noteVerdict(log, health, 'unknown' in verdict ? verdict.unknown : null, 'alarm' in verdict);
  if ('unknown' in verdict) return { ...common, finalized: null, floor: 'alarm' in verdict ? null : watermark };
  const { accepted } = verdict;
  if (watermark === null || accepted.number > watermark.number) {
    await raiseWatermark(database, chainId, accepted, new Date(clock.now()));
  }
  return { ...common, finalized: accepted, floor: accepted };
}
