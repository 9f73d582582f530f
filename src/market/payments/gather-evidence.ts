import { type Log, readBlock, readChainId, readLogs, readReceipt } from '../../platform/chain/reads.ts';
import type { Rpc } from '../../platform/chain/rpc.ts';
import {
  AUTHORIZATION_CANCELED_TOPIC,
  AUTHORIZATION_USED_TOPIC,
  addressTopic,
  TRANSFER_TOPIC,
} from '../../platform/chain/usdc.ts';
import { readAuthorizationStateWithHeight } from '../../platform/chain/usdc-reads.ts';
import type { Hex } from '../../platform/hex.ts';
import type { Market } from '../context.ts';
import type { Evidence, Use } from './decide.ts';
import { type ChainHead, readHead } from './head/read-head.ts';
import type { Payment } from './store.ts';

/** Providers cap how many blocks one log query may span. */
const LOG_SPAN_BLOCKS = 2_000n;
/** A use in a block just before the opening is looked at too, to say so rather than to wait for it. */
const MARGIN_BLOCKS = 5n;

type Needs = Pick<Market, 'rpc' | 'database' | 'clock' | 'log' | 'config'>;

/**
 * Reads about some payments of one asset, all from one provider: first the heads, then the logs of their nonces, then what those
 * logs point to. Throws RpcFailure when any part cannot be read: half a reading is none.
 */
export async function gatherEvidence(market: Needs, payments: readonly Payment[]): Promise<Map<bigint, Evidence>> {
  const { rpc } = market;
  const chainId = await readChainId(rpc);
  const head = await readHead(market);
  const logs = await readUses(rpc, payments, head.latest.number);
  const gathered = new Map<bigint, Evidence>();
  for (const payment of payments) {
    const log = logs.findLast(
      (found) => found.topics[1] === addressTopic(payment.payer) && found.topics[2] === payment.nonce,
    );
    const use = log ? await readUse(rpc, log) : null;
    const nonceUsed = use === null ? await readNonce(market, payment, head.latest.number) : null;
    gathered.set(payment.id, { chainId, latest: head.latest, finalized: head.finalized, nonceUsed, use });
  }
  return (await isStillFinal(rpc, head)) ? gathered : withoutFinalized(gathered);
}

async function readUses(rpc: Rpc, payments: readonly Payment[], latest: bigint): Promise<Log[]> {
  const [first] = payments;
  if (first === undefined) return [];
  const opened = payments.map((payment) => payment.openedBlock);
  const lowest = opened.reduce((low, block) => (block < low ? block : low)) - MARGIN_BLOCKS;
  const found: Log[] = [];
  for (let from = lowest < 0n ? 0n : lowest; from <= latest; from += LOG_SPAN_BLOCKS) {
    const to = from + LOG_SPAN_BLOCKS - 1n;
    const logs = await readLogs(rpc, {
      address: first.asset,
      topics: [
        [AUTHORIZATION_USED_TOPIC, AUTHORIZATION_CANCELED_TOPIC],
        distinct(payments.map((payment) => addressTopic(payment.payer))),
        distinct(payments.map((payment) => payment.nonce)),
      ],
      fromBlock: from,
      toBlock: to < latest ? to : latest,
    });
    found.push(...logs);
  }
  return found;
}

function distinct(values: Hex[]): Hex[] {
  return [...new Set(values)];
}

async function readUse(rpc: Rpc, log: Log): Promise<Use> {
  const payer = log.topics[1] ?? null;
  const [receipt, block, transfersInBlock] = await Promise.all([
    readReceipt(rpc, log.transactionHash),
    readBlock(rpc, log.blockNumber),
    readLogs(rpc, { address: log.address, topics: [TRANSFER_TOPIC, payer], blockHash: log.blockHash }),
  ]);
  return { log, receipt, block, transfersInBlock };
}

/** Asked only once it can decide something, and believed only of a node that is as far as the heads: otherwise it was not asked. */
async function readNonce(market: Needs, payment: Payment, latest: bigint): Promise<boolean | null> {
  if (market.clock.now() < Number(payment.validBefore) * 1000) return null;
  const { asset, payer, nonce } = payment;
  const { used, height } = await readAuthorizationStateWithHeight(market.rpc, asset, payer, nonce);
  return height < latest ? null : used;
}

/** A balancer that switched nodes in between, or a tag that lied, shows here. */
async function isStillFinal(rpc: Rpc, head: ChainHead): Promise<boolean> {
  if (head.finalized === null) return true;
  const again = await readBlock(rpc, head.finalized.number);
  return again?.hash === head.finalized.hash;
}

function withoutFinalized(gathered: Map<bigint, Evidence>): Map<bigint, Evidence> {
  return new Map([...gathered].map(([id, evidence]) => [id, { ...evidence, finalized: null }]));
}
