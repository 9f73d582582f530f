import { type Log, readBlock, readChainId, readLogs, readReceipt } from '../../platform/chain/reads.ts';
import { type Rpc, RpcFailure } from '../../platform/chain/rpc.ts';
import {
  AUTHORIZATION_CANCELED_TOPIC,
  AUTHORIZATION_USED_TOPIC,
  addressTopic,
  TRANSFER_TOPIC,
} from '../../platform/chain/usdc.ts';
import { readAuthorizationState } from '../../platform/chain/usdc-reads.ts';
import type { Hex } from '../../platform/hex.ts';
import type { Market } from '../context.ts';
import type { Evidence, Use } from './decide.ts';
import type { ChainHead } from './head/read-head.ts';
import { isStillFinal } from './head/still-final.ts';
import type { X402Payment } from './payment.ts';

/** Providers cap how many blocks one log query may span. */
const LOG_SPAN_BLOCKS = 2_000n;
/** Payments read side by side: many become final with one block. */
const READ_AT_ONCE = 6;

export interface Gathering {
  market: Pick<Market, 'rpc' | 'clock' | 'log'>;
  readHead(): Promise<ChainHead>;
  /** Leaves out those that were seen above the finalized head already: nothing can be decided about them yet. */
  skipYoung: boolean;
}

/**
 * Reads about some payments of one asset, all from one provider: first the heads, then the logs of their nonces, then what those
 * logs point to. Throws RpcFailure when what they share cannot be read; a payment that cannot be read by itself is left out, so
 * that it does not hold up the others.
 */
export async function gatherEvidence(
  gathering: Gathering,
  payments: readonly X402Payment[],
): Promise<Map<bigint, Evidence>> {
  const { market, skipYoung } = gathering;
  const { rpc } = market;
  const chainId = await readChainId(rpc);
  const head = await gathering.readHead();
  const wanted = skipYoung ? payments.filter((payment) => !isYoung(payment, head)) : payments;
  const logs = await readUses(rpc, wanted, head.latest.number);
  const gathered = new Map<bigint, Evidence>();
  for (let at = 0; at < wanted.length; at += READ_AT_ONCE) {
    const group = wanted.slice(at, at + READ_AT_ONCE);
    await Promise.all(
      group.map(async (payment) => {
        const evidence = await tryToRead(market, payment, () => readOne(market, payment, { chainId, head, logs }));
        if (evidence !== null) gathered.set(payment.id, evidence);
      }),
    );
  }
  return (await isStillFinal(rpc, head)) ? gathered : withoutFinalized(gathered);
}

function isYoung(payment: X402Payment, head: ChainHead): boolean {
  return payment.blockNumber !== null && (head.finalized === null || payment.blockNumber > head.finalized.number);
}

async function tryToRead<T>(
  market: Gathering['market'],
  payment: X402Payment,
  read: () => Promise<T>,
): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    market.log.warn('payment_unreadable', { payment_id: payment.id, error });
    return null;
  }
}

async function readOne(
  market: Gathering['market'],
  payment: X402Payment,
  shared: { chainId: bigint; head: ChainHead; logs: readonly Log[] },
): Promise<Evidence> {
  const { chainId, head } = shared;
  const log = shared.logs.findLast(
    (found) => found.topics[1] === addressTopic(payment.payer) && found.topics[2] === payment.nonce,
  );
  const use = log ? await readUse(market.rpc, log) : null;
  const nonceUsed = use === null ? await readNonce(market, payment, head.latest.number) : null;
  return { chainId, latest: head.latest, finalized: head.finalized, nonceUsed, use };
}

async function readUses(rpc: Rpc, payments: readonly X402Payment[], latest: bigint): Promise<Log[]> {
  const [first] = payments;
  if (first === undefined) return [];
  const opened = payments.map((payment) => payment.openedBlock);
  const lowest = opened.reduce((low, block) => (block < low ? block : low));
  const found: Log[] = [];
  for (let from = lowest; from <= latest; from += LOG_SPAN_BLOCKS) {
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

/**
 * Asked only once it can decide something, and of the very block that the heads named: a node that lags behind does not know it,
 * and fails instead of calling a used nonce unused.
 */
async function readNonce(market: Gathering['market'], payment: X402Payment, latest: bigint): Promise<boolean | null> {
  if (market.clock.now() < Number(payment.validBefore) * 1000) return null;
  const { asset, payer, nonce } = payment;
  return await readAuthorizationState(market.rpc, asset, payer, nonce, latest);
}

function withoutFinalized(gathered: Map<bigint, Evidence>): Map<bigint, Evidence> {
  return new Map([...gathered].map(([id, evidence]) => [id, { ...evidence, finalized: null }]));
}
