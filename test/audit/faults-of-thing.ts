import type { ThingLine } from './read-books.ts';
import { type Chain, movesOf } from './read-chain.ts';

/** The proof is a final transfer of at least the price, from the wallet that paid to the one that the listing names. */
export async function faultsOfThing(
  { chain, token }: { chain: Chain; token: string },
  line: ThingLine,
): Promise<string[]> {
  const name = `purchase ${line.id} of the thing of listing ${line.listing_id}`;
  const receipt = await chain.receipt(line.proof_hash);
  if (receipt === null || receipt.status !== '0x1') {
    return [`${name} is proven by ${line.proof_hash}, which the chain does not have`];
  }
  const height = Number(receipt.blockNumber);
  const block = await chain.block(height);
  const faults: string[] = [];
  if (block?.hash !== receipt.blockHash || line.proof_block !== block.hash || Number(line.proof_number) !== height) {
    faults.push(`${name} is proven by a block that is not in the chain`);
  }
  if (height > chain.final.number) faults.push(`${name} is proven by block ${height}, which is not final`);
  const moved = movesOf(receipt, token).find(({ logIndex }) => logIndex === line.proof_log);
  if (moved?.from !== line.payer || moved.to !== line.payee || moved.units.toString() !== line.proof_units) {
    return [...faults, `${name} is proven by a transaction without its transfer`];
  }
  return moved.units < BigInt(line.price_units) ? [...faults, `${name}: too little was paid`] : faults;
}
