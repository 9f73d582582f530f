import type { LocalChain } from '../src/local/chain/start-chain.ts';
import { callAll } from '../src/platform/chain/rpc.ts';
import type { Hex } from '../src/platform/hex.ts';

const AT_ONCE = 100;

export async function readGas(chain: LocalChain, hashes: readonly Hex[]): Promise<number> {
  let used = 0;
  for (let at = 0; at < hashes.length; at += AT_ONCE) {
    const calls = hashes
      .slice(at, at + AT_ONCE)
      .map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] }));
    const receipts = (await callAll(chain.rpc, calls)) as { gasUsed: string }[];
    for (const { gasUsed } of receipts) used += Number(gasUsed);
  }
  return used / hashes.length;
}
