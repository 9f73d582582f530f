import { z } from 'zod';
import type { Delivery } from '../contract/listings.ts';
import { named, own } from '../contract/own-words.ts';
import { DEFAULT_NETWORK } from '../contract/vocabulary.ts';
import type { Client } from '../sdk/client.ts';
import { buy } from '../sdk/payments/buy.ts';
import { type ListedGoods, type ListGoodsOptions, listGoods } from '../sdk/payments/list-goods.ts';
import { TermsRefused } from '../sdk/payments/payment-errors.ts';
import type { Wallet } from '../sdk/payments/payment-proof.ts';
import type { ProofStore } from '../sdk/payments/proof-store.ts';
import type { Tools } from './connect-tools.ts';

export interface SellByToolsOptions {
  tools: Tools;
  client: Client;
  wallet: Wallet;
  line: string;
  listing: ListGoodsOptions['listing'];
  proofStore?: ProofStore;
  signal?: AbortSignal;
}

/** Runs the selling agent, which sets its store's line and lists goods. A person made its key at `/join`, because no tool makes one. */
export async function sellByTools(options: SellByToolsOptions): Promise<{ handle: string; listed: ListedGoods }> {
  const { tools, line, ...rest } = options;
  const { client, listing } = rest;
  const { body: me } = await client.getMe();
  const { body: store } = await client.setStoreLine({ body: { line } });
  const { body: facts } = await client.getOfficialFacts();
  const { body: checked } = await tools.call({ name: 'list_item', arguments: { ...listing, dry_run: true } });
  if (checked['would_cost_usdc'] !== facts.listing_fee_usdc) {
    throw new TermsRefused('wrong_amount', own`a dry run does not name the fee of the official facts`);
  }
  const listed = await listGoods(rest);
  if (store.merchant.handle !== listed.listing.merchant) throw new Error('the listing is in another store');
  return { handle: me.merchant.handle, listed };
}

interface BuyByToolsOptions {
  tools: Tools;
  client: Client;
  wallet: Wallet;
  words: string;
  maxPriceUsdc: number;
  proofStore?: ProofStore;
  signal?: AbortSignal;
}

const officialFacts = z.looseObject({ network: z.string(), usdc_contract: z.string() });

/**
 * Runs the buying agent: finds goods, pays their seller, waits until the transfer is final, and collects. `buy` signs only for the
 * listing's price and wallet, and checks the goods against the listing's commitment.
 */
export async function buyByTools(options: BuyByToolsOptions): Promise<Delivery> {
  const { tools, words, ...rest } = options;
  const { client, maxPriceUsdc } = rest;
  const { name, usdc } = DEFAULT_NETWORK;
  const facts = officialFacts.parse(JSON.parse(await tools.readResource('market://official')));
  if (facts.network !== name) throw new TermsRefused('wrong_network', own`the market is not on ${named(name)}`);
  if (facts.usdc_contract.toLowerCase() !== usdc) {
    throw new TermsRefused('wrong_asset', own`the market names another token than USDC`);
  }
  const { body: shelf } = await client.browseShelves({ query: { q: words, limit: 10, fields: 'full' } });
  // Things of the city are bought in another way.
  const chosen = shelf.listings
    .filter((listing) => 'delivery_kind' in listing && listing.delivery_kind === 'artifact')
    .find(({ price_usdc: price }) => price <= maxPriceUsdc);
  if (chosen === undefined) throw new Error(`nothing on the shelves fits “${words}” for ${maxPriceUsdc} USDC`);
  return await buy({ ...rest, listingId: chosen.id, network: name });
}
