import type { Authorization } from '../platform/chain/authorization.ts';
import { readBlock, readLogs, readReceipt } from '../platform/chain/reads.ts';
import {
  AUTHORIZATION_USED_TOPIC,
  addressTopic,
  decodeAuthorizationUsed,
  decodeTransfer,
} from '../platform/chain/usdc.ts';
import type { Hex } from '../platform/hex.ts';
import { ChainTrouble } from './chain-trouble.ts';
import type { Context } from './context.ts';

/** A little more than five hours on Base; an authorization is used within minutes of being signed. */
const LOOK_BACK_BLOCKS = 10_000n;
/** What public nodes answer in one go. */
const STEP_BLOCKS = 2_000n;

/**
 * The transaction that has paid this authorization; any account may have sent it. Null when the nonce was cancelled, or used for
 * another payment, or longer ago than is looked. Throws when the chain could not be read.
 */
export async function findSettlement(context: Context, authorization: Authorization): Promise<Hex | null> {
  const { rpc, network } = context;
  const { from, nonce } = authorization;
  const latest = await readBlock(rpc, 'latest');
  if (latest === null) throw new ChainTrouble('the node has no latest block');
  const bottom = latest.number > LOOK_BACK_BLOCKS ? latest.number - LOOK_BACK_BLOCKS : 0n;
  for (let end = latest.number; end >= bottom; end -= STEP_BLOCKS) {
    const start = end - STEP_BLOCKS + 1n;
    const [used] = await readLogs(rpc, {
      address: network.usdc,
      topics: [AUTHORIZATION_USED_TOPIC, addressTopic(from), nonce],
      fromBlock: start > bottom ? start : bottom,
      // The newest blocks may have come after the question.
      ...(end === latest.number ? {} : { toBlock: end }),
    });
    if (used !== undefined)
      return (await paidIn(context, used.transactionHash, authorization)) ? used.transactionHash : null;
  }
  return null;
}

async function paidIn({ rpc, network }: Context, hash: Hex, authorization: Authorization): Promise<boolean> {
  const receipt = await readReceipt(rpc, hash);
  if (receipt === null) throw new ChainTrouble('the node has the log of a transaction but not its receipt');
  const logs = receipt.logs.filter(({ address }) => address === network.usdc);
  const at = logs.findIndex((log) => {
    const used = decodeAuthorizationUsed(log);
    return used !== null && used.authorizer === authorization.from && used.nonce === authorization.nonce;
  });
  // The token writes the transfer right after the use, and one transaction may hold several of both.
  const next = at < 0 ? undefined : logs[at + 1];
  const transfer = next === undefined ? null : decodeTransfer(next);
  const { from, to, value } = authorization;
  return transfer !== null && transfer.from === from && transfer.to === to && transfer.value === value;
}
