import { type Log, readLogs, readReceipt } from '../../../../platform/chain/reads.ts';
import type { Rpc } from '../../../../platform/chain/rpc.ts';
import { AUTHORIZATION_USED_TOPIC, addressTopic, decodeTransfer } from '../../../../platform/chain/usdc.ts';
import type { Hex } from '../../../../platform/hex.ts';
import type { MarketConfig } from '../../../context.ts';
import type { Proof, Terms } from '../../terms.ts';

/** One query of the log spans at most so many blocks. */
const SPAN_BLOCKS = 2_000n;
const SEARCHED_SECONDS = 600n;
/** For blocks that came faster or slower than the network's own time between them. */
const MARGIN_BLOCKS = 500n;

interface View {
  rpc: Rpc;
  latest: { number: bigint; timestamp: bigint };
}

/**
 * The transaction in which this nonce, which is used, paid exactly this payee and price. It is searched around the 600 s before
 * validBefore, at the place where the network's time between blocks puts them: one query, one receipt. Null is no proof of the
 * contrary.
 */
export async function findExactUse(
  { rpc, latest }: View,
  network: MarketConfig['network'],
  { authorization }: Proof,
  terms: Terms,
): Promise<Hex | null> {
  const age = latest.timestamp - (authorization.validBefore - SEARCHED_SECONDS);
  if (age < 0n) return null;
  const wanted = latest.number - age / BigInt(network.blockSeconds) - MARGIN_BLOCKS;
  const newest = latest.number - SPAN_BLOCKS + 1n;
  const from = largest(0n, wanted < newest ? wanted : newest);
  const to = from + SPAN_BLOCKS - 1n;
  const uses = await readLogs(rpc, {
    address: network.usdc,
    topics: [AUTHORIZATION_USED_TOPIC, addressTopic(authorization.from), authorization.nonce],
    fromBlock: from,
    toBlock: to < latest.number ? to : latest.number,
  });
  const use = uses.at(-1);
  if (use === undefined) return null;
  const receipt = await readReceipt(rpc, use.transactionHash);
  // The token writes the transfer of an authorization directly behind its use.
  const next = receipt?.logs.find((log) => log.logIndex === use.logIndex + 1);
  return next !== undefined && pays(next, network, authorization.from, terms) ? use.transactionHash : null;
}

function pays(log: Log, { usdc }: MarketConfig['network'], payer: string, terms: Terms): boolean {
  const transfer = log.address === usdc ? decodeTransfer(log) : null;
  return transfer?.from === payer && transfer.to === terms.payee && transfer.value === terms.valueUnits;
}

function largest(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
