import { readBlock, readLogs, readReceipt } from '../../../platform/chain/reads.ts';
import { RpcFailure } from '../../../platform/chain/rpc.ts';
import { isStillFinal } from '../../../platform/chain/still-final.ts';
import { addressTopic, decodeAuthorizationUsed, TRANSFER_TOPIC } from '../../../platform/chain/usdc.ts';
import type { Hex } from '../../../platform/hex.ts';
import type { Market } from '../../context.ts';
import type { ChainHead } from '../../payments/head/read-head.ts';
import { hasAuthorization } from '../../payments/paths/direct/store.ts';
import type { Payments } from '../../payments/payments.ts';
import { decideSale, type SaleEvidence, type SaleTerms } from './decide-sale.ts';

type Needs = Pick<Market, 'database' | 'log'>;
type Chain = Pick<Payments, 'readHead' | 'corroborate'>;

/**
 * Reads the transaction for the market itself, whatever the city says of it: all from the provider whose head leads. What would decide is
 * then shown to the other providers; where they do not bear it out it decides nothing. Null while the chain cannot be read.
 */
export async function gatherSale(
  market: Needs,
  chain: Chain,
  sale: { listingId: bigint; txHash: Hex; terms: SaleTerms },
): Promise<SaleEvidence | null> {
  const { listingId, txHash, terms } = sale;
  try {
    const head = await chain.readHead();
    const evidence = await readSale(market, head, txHash, terms);
    if (decideSale(evidence, terms).outcome === 'unknown') return evidence;
    // It has no row in the ledger of payments, whose numbers are positive.
    const asked = { id: -listingId, asset: terms.asset };
    const isCertain = (await chain.corroborate(head, asked, evidence)) && (await isStillFinal(head.rpc, head));
    return isCertain ? evidence : { ...evidence, finalized: null };
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    market.log.warn('world_sale_unreadable', { listing_id: listingId, error });
    return null;
  }
}

async function readSale(
  { database }: Needs,
  { rpc, chainId, finalized }: ChainHead,
  txHash: Hex,
  terms: SaleTerms,
): Promise<SaleEvidence> {
  const receipt = await readReceipt(rpc, txHash);
  const nothing = { chainId, finalized, receipt, block: null, transfersInBlock: [], isOfLedger: false };
  if (receipt === null) return nothing;
  const { asset, payee } = terms;
  const topics = [TRANSFER_TOPIC, null, addressTopic(payee)];
  const [block, transfersInBlock] = await Promise.all([
    readBlock(rpc, receipt.blockNumber),
    readLogs(rpc, { address: asset, topics, blockHash: receipt.blockHash }),
  ]);
  const used = receipt.logs.flatMap((log) => (log.address === asset ? (decodeAuthorizationUsed(log) ?? []) : []));
  const isOfLedger = await hasAuthorization(database, terms, used);
  return { ...nothing, block, transfersInBlock, isOfLedger };
}
