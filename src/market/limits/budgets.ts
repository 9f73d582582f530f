import { type Budget, type BudgetOptions, type Client, createBudget } from '../../platform/budget.ts';
import type { Market, Merchant } from '../context.ts';
import { limitFor, type NetworkLimit } from './network-limits.ts';

const MINUTE_SECONDS = 60;
const HOUR_SECONDS = 3_600;

/** Counters of this process only. Limits that must hold across processes are counted in the database. */
export interface Budgets {
  /** Attempts to pay by x402 that were not verified. */
  attempts: Budget;
  chainReads: Budget;
  /** Requests to chain providers per wallet, whichever client sends the wallet's signatures. */
  walletReads: Budget;
  readMs: Budget;
  /** Megabytes sent in answers that contain a whole store. */
  wholeStores: Budget;
  /** Megabytes that arrive as uploads. */
  uploads: Budget;
}

export function createBudgets({ config, clock, random }: Pick<Market, 'config' | 'clock' | 'random'>): Budgets {
  const { limits, clientNetworkLimits } = config;
  const namedLimit = (name: keyof typeof limits) => ({ name, limit: limits[name] });
  const create = (perNetwork: NetworkLimit, windowSeconds: number, more: Partial<BudgetOptions>): Budget =>
    createBudget({
      clock,
      random,
      windowSeconds,
      perNetwork: namedLimit(perNetwork),
      limitOf: (network) => limitFor(clientNetworkLimits, perNetwork, network, limits),
      networksPerSite: limits.networks_per_site,
      ...more,
    });
  return {
    attempts: create('attempts_per_ip_hour', HOUR_SECONDS, {
      perAccount: namedLimit('attempts_per_merchant_hour'),
      forAll: namedLimit('attempts_per_hour'),
    }),
    chainReads: create('chain_reads_per_ip_minute', MINUTE_SECONDS, {
      perAccount: namedLimit('chain_reads_per_merchant_minute'),
      forAll: namedLimit('chain_reads_per_minute'),
    }),
    walletReads: create('chain_reads_per_ip_minute', MINUTE_SECONDS, {
      perAccount: namedLimit('chain_reads_per_wallet_minute'),
    }),
    readMs: create('read_ms_per_ip_minute', MINUTE_SECONDS, { forAll: namedLimit('read_ms_per_minute') }),
    wholeStores: create('store_megabytes_per_ip_hour', HOUR_SECONDS, {
      forAll: namedLimit('store_megabytes_per_hour'),
    }),
    uploads: create('upload_megabytes_per_ip_hour', HOUR_SECONDS, {
      perAccount: namedLimit('upload_megabytes_per_merchant_hour'),
      forAll: namedLimit('upload_megabytes_per_hour'),
    }),
  };
}

/** Returns the client whose budget a call uses: the merchant if the caller sent a key, else the client network. */
export function clientOf({ caller, clientNetwork }: { caller: unknown; clientNetwork: string }): Client {
  const merchant = caller as Merchant | null;
  return merchant === null ? { network: clientNetwork } : { account: `merchant ${merchant.id}` };
}
