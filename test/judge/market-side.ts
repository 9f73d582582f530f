import { decideClaim } from '../../src/market/payments/paths/direct/decide-claim.ts';
import { decide, type Use } from '../../src/market/payments/paths/x402/decide.ts';
import { decideRefund } from '../../src/market/payments/review-payment.ts';
import { type Block, type Log, readBlock, readChainId, readLogs, readReceipt } from '../../src/platform/chain/reads.ts';
import { type Rpc, RpcFailure } from '../../src/platform/chain/rpc.ts';
import type { FoundTransfer, Sighting } from '../../src/platform/chain/sighting.ts';
import { decodeAuthorizationUsed, TRANSFER_TOPIC } from '../../src/platform/chain/usdc.ts';
import { type Hex, isHex } from '../../src/platform/hex.ts';
import type { AttemptCase, Case } from './cases.ts';
import type { Answers, ClaimRules, Json, Rules, Ruling } from './judge.ts';
import { TOKEN, TRANSFER, TX, topicOf } from './scene.ts';

/** Runs the market's own readers and verdicts on a scene. */

const UNREADABLE: Ruling & { why: string } = { outcome: 'unknown', seen: false, why: 'unreadable' };

export type Verdict = Ruling & { why?: string };

/** Returns a node's answer for transfers with this sender (1) or recipient (2). */
export function indexed(index: readonly Json[], where: 1 | 2, party: string): Json[] {
  const has = (log: Json, at: number, value: string): boolean => {
    const topic: unknown = Array.isArray(log['topics']) ? log['topics'][at] : null;
    return typeof topic === 'string' && topic.toLowerCase() === value;
  };
  const isOfToken = (log: Json): boolean =>
    typeof log['address'] === 'string' && log['address'].toLowerCase() === TOKEN;
  return index.filter((log) => isOfToken(log) && has(log, 0, TRANSFER) && has(log, where, topicOf(party)));
}

export function answersOf({ scene }: Case<Rules>, where: 1 | 2, party: string): Answers {
  return { ...scene, asked: TX, logs: indexed(scene.index, where, party) };
}

function createNode(answers: Answers, uses: readonly Json[]): Rpc {
  const answer = (method: string, params: readonly unknown[]): unknown => {
    if (method === 'eth_chainId') return answers.chainId;
    if (method === 'eth_getTransactionReceipt') return answers.receipt;
    if (method === 'eth_getLogs') return JSON.stringify(params[0]).includes('fromBlock') ? uses : answers.logs;
    if (method !== 'eth_getBlockByNumber') throw new TypeError(`unexpected call of ${method}`);
    if (params[0] === 'latest') return answers.latest;
    return params[0] === 'finalized' ? answers.finalized : answers.block;
  };
  return {
    endpoint: 'a scene',
    call: async (method, params) => answer(method, params),
    traffic: () => ({ requests: 0, bytes: { sent: 0, received: 0 }, calls: {} }),
  };
}

function hex(text: string): Hex {
  if (!isHex(text)) throw new TypeError(`${text} is no hex`);
  return text;
}

async function orUnreadable(read: () => Promise<Verdict>): Promise<Verdict> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof RpcFailure) return UNREADABLE;
    throw error;
  }
}

interface Chain {
  chainId: bigint;
  finalized: Block | null;
}

const readChain = async (rpc: Rpc): Promise<Chain> => ({
  chainId: await readChainId(rpc),
  finalized: await readBlock(rpc, 'finalized'),
});

const readTransfers = (rpc: Rpc, where: 1 | 2, party: string, blockHash: Hex): Promise<Log[]> => {
  const topic = hex(topicOf(party));
  const topics = where === 1 ? [TRANSFER_TOPIC, topic] : [TRANSFER_TOPIC, null, topic];
  return readLogs(rpc, { address: hex(TOKEN), topics, blockHash });
};

type Decided =
  | { outcome: 'settled' | 'refunded'; transfer: FoundTransfer }
  | { outcome: 'refused'; reason?: string }
  | { outcome: 'review'; reason: string; transfer: FoundTransfer }
  | { outcome: 'unknown'; why?: string; sighting?: Sighting | null };

function rulingOf(decided: Decided): Verdict {
  if (decided.outcome === 'unknown') {
    const { why, sighting } = decided;
    return { outcome: 'unknown', seen: (sighting ?? null) !== null, ...(why === undefined ? {} : { why }) };
  }
  if (decided.outcome === 'refused') return { outcome: 'refused', reason: decided.reason ?? 'refund_not_found' };
  const log = decided.transfer.logIndex;
  return decided.outcome === 'review'
    ? { outcome: 'review', reason: decided.reason, log }
    : { outcome: 'settled', log };
}

function commonTerms({ chainId, token }: Rules): { chainId: bigint; asset: Hex } {
  return { chainId: BigInt(chainId), asset: hex(token) };
}

export function claimVerdict(answers: Answers, rules: ClaimRules): Promise<Verdict> {
  const rpc = createNode(answers, []);
  return orUnreadable(async () => {
    const chain = await readChain(rpc);
    const receipt = await readReceipt(rpc, hex(answers.asked));
    const block = receipt && (await readBlock(rpc, receipt.blockNumber));
    const transfersInBlock = receipt ? await readTransfers(rpc, 2, rules.payee, receipt.blockHash) : [];
    const isOfLedger = (receipt?.logs ?? []).some((log) => {
      const event = log.address === rules.token ? decodeAuthorizationUsed(log) : null;
      return rules.ledger.some(([who, nonce]) => who === event?.authorizer && nonce === event.nonce);
    });
    const evidence = { ...chain, receipt, block, transfersInBlock, isOfLedger };
    const decided = decideClaim(evidence, {
      ...commonTerms(rules),
      payer: hex(rules.payer),
      payee: hex(rules.payee),
      minimumUnits: rules.units,
      windowFrom: BigInt(rules.from),
      windowTo: BigInt(rules.until),
      surplus: rules.owned,
      removedAt: rules.removedAt,
    });
    return rulingOf(decided);
  });
}

export function attemptVerdict(answers: Answers, { rules, use: rawUse, nonceUsed }: AttemptCase): Promise<Verdict> {
  const rpc = createNode(answers, rawUse === null ? [] : [rawUse]);
  return orUnreadable(async () => {
    const chain = await readChain(rpc);
    const latest = await readBlock(rpc, 'latest');
    if (latest === null) return UNREADABLE;
    const [log] = await readLogs(rpc, { address: hex(TOKEN), topics: [], fromBlock: 0n });
    let use: Use | null = null;
    if (log !== undefined) {
      const receipt = await readReceipt(rpc, log.transactionHash);
      const block = await readBlock(rpc, log.blockNumber);
      use = { log, receipt, block, transfersInBlock: await readTransfers(rpc, 1, rules.payer, log.blockHash) };
    }
    const evidence = { ...chain, latest, use, nonceUsed: use === null ? nonceUsed : null };
    const decided = decide(evidence, {
      ...commonTerms(rules),
      payer: hex(rules.payer),
      payee: hex(rules.payee),
      valueUnits: rules.units,
      nonce: hex(rules.nonce),
      validBefore: BigInt(rules.validBefore),
      openedBlock: BigInt(rules.openedBlock),
      mayBeSubmitted: rules.submitted,
      removedAt: rules.removedAt,
      isStopped: rules.stopped,
    });
    return rulingOf(decided);
  });
}

export function refundVerdict(answers: Answers, rules: Rules & { afterBlock: number }): Promise<Verdict> {
  const rpc = createNode(answers, []);
  return orUnreadable(async () => {
    const chain = await readChain(rpc);
    const receipt = await readReceipt(rpc, hex(answers.asked));
    const block = receipt && (await readBlock(rpc, receipt.blockNumber));
    const transfersInBlock = receipt ? await readTransfers(rpc, 2, rules.payer, receipt.blockHash) : [];
    const decided = decideRefund(
      { ...chain, receipt, block, transfersInBlock },
      {
        ...commonTerms(rules),
        from: hex(rules.payee),
        to: hex(rules.payer),
        minimumUnits: rules.units,
        afterBlock: BigInt(rules.afterBlock),
      },
    );
    return rulingOf(decided);
  });
}
