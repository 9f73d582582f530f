import type { Client } from '../../sdk/client.ts';
import { type ListedGoods, type ListGoodsOptions, listGoods } from '../../sdk/payments/list-goods.ts';
import type { ProofStore } from '../../sdk/payments/proof-store.ts';
import type { Wallet } from '../../sdk/payments/sign-authorization.ts';
import { TermsRefused } from '../../sdk/payments/terms-refused.ts';
import type { Tools } from './connect-tools.ts';

export interface SellByToolsOptions {
  tools: Tools;
  /** Over the same tools. */
  client: Client;
  wallet: Wallet;
  /** What stands over the store. */
  line: string;
  listing: ListGoodsOptions['listing'];
  proofStore?: ProofStore;
  signal?: AbortSignal;
}

/**
 * Agent one: opens its store and puts goods on the shelves. Its key was made by a person at `/join`, since no tool makes one, and stands
 * in the connection's Authorization.
 */
export async function sellByTools(options: SellByToolsOptions): Promise<{ handle: string; listed: ListedGoods }> {
  const { tools, line, ...rest } = options;
  const { client, listing } = rest;
  const { body: me } = await client.getMe();
  const { body: store } = await client.setStoreLine({ body: { line } });
  const { body: facts } = await client.getOfficialFacts();
  const { body: checked } = await tools.call({ name: 'list_item', arguments: { ...listing, dry_run: true } });
  if (checked['would_cost_usdc'] !== facts.listing_fee_usdc) {
    throw new TermsRefused('wrong_amount', 'a dry run does not name the fee of the official facts');
  }
  const listed = await listGoods(rest);
  if (store.merchant.handle !== listed.listing.merchant) throw new Error('the listing is in another store');
  return { handle: me.merchant.handle, listed };
}
