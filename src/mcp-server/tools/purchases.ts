import { z } from 'zod';
import { listSpends } from '../../agent/list-purchases.ts';
import { openChain } from '../../agent/read-chain.ts';
import { isUnderWay } from '../../agent/spend-record.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import { formed, type OwnWords, own } from '../../contract/own-words.ts';
import { localTool, READS } from '../local-tool.ts';
import type { ToolContext } from '../tool-context.ts';
import { checkPurchase } from './buy.ts';

const USUAL_ROWS = 20;

const input = z.strictObject({
  listing_id: z.int().min(1).optional().describe('check the purchase of this listing: file, receipt, transfer'),
  limit: z.int().min(1).max(100).default(USUAL_ROWS).describe('most rows to return, newest first'),
});

export const purchases = localTool({
  name: 'purchases',
  title: 'Purchases and fees',
  description:
    'Lists what this wallet bought and which fees it paid, with file paths and whether the files are unchanged. With listing_id, checks that purchase with the market, and with the chain if there is an RPC endpoint.',
  input,
  hints: READS,
  run: async (context, { listing_id, limit }) => {
    const book = context.openBook(await context.walletAddress());
    const all = await listSpends(book);
    const rows = all
      .filter((row) => listing_id === undefined || row.listing_id === listing_id)
      .slice(0, listing_id === undefined ? limit : all.length);
    const verified = listing_id === undefined ? undefined : await checkPurchase(context, book, listing_id);
    return {
      said: [own`${rows.length} of ${all.length} payments of this wallet.`],
      data: { payments: rows, total: all.length, ...(verified === undefined ? {} : { verified }) },
      untrusted: true,
    };
  },
});

async function walletOf(context: ToolContext) {
  const { client, rpcUrl } = context;
  const address = await context.walletAddress();
  const book = context.openBook(address);
  const chain = rpcUrl === undefined ? null : await openChain(rpcUrl, client.environment);
  const open = (await book.list()).filter(isUnderWay);
  return {
    address,
    network: chain?.network.name ?? null,
    balance_usdc: chain === null ? null : usdcOfUnits(await chain.readBalance(address)),
    spent_today_usdc: usdcOfUnits(await book.spentToday()),
    open_payments: open.map(({ kind, listing_id, title, amount_units, reserved_at }) => ({
      ...{ kind, listing_id, title, amount_usdc: usdcOfUnits(BigInt(amount_units)), since: reserved_at },
    })),
  };
}

async function policyOf(context: ToolContext) {
  const { path, isOwn, perPurchaseUnits, perDayUnits, askAboveUnits, sellers, aisles, markets, networks } =
    await context.readPolicy();
  return {
    file: isOwn ? path : null,
    per_purchase_usdc: usdcOfUnits(perPurchaseUnits),
    per_day_usdc: usdcOfUnits(perDayUnits),
    ask_above_usdc: askAboveUnits === null ? null : usdcOfUnits(askAboveUnits),
    ...{ sellers, aisles, markets, networks },
  };
}

export const status = localTool({
  name: 'status',
  title: 'Wallet, limits and open payments',
  description:
    'Shows the market, the wallet’s address (and its balance, if there is an RPC endpoint), the owner’s limits and what is spent of them today, payments in progress, and whether selling is set up.',
  input: z.strictObject({}),
  hints: READS,
  run: async (context) => {
    const orTrouble = async <T>(work: Promise<T>): Promise<T | { trouble: OwnWords; next_step: OwnWords | null }> => {
      try {
        return await work;
      } catch (error) {
        const { title, next_step = null } = await context.troubleOf(error);
        return { trouble: title, next_step };
      }
    };
    const [wallet, policy, merchant] = await Promise.all([
      orTrouble(walletOf(context)),
      orTrouble(policyOf(context)),
      orTrouble(context.merchantHandle()),
    ]);
    const open = 'open_payments' in wallet ? wallet.open_payments.length : 0;
    return {
      said: [
        'address' in wallet ? own`Wallet ${formed('address', wallet.address)}.` : own`There is no usable wallet.`,
        open === 0
          ? own`No payments are in progress.`
          : own`Payments in progress: ${open}. Repeat the same buy or sell to resume.`,
      ],
      data: {
        ...{ market: context.client.baseUrl, wallet, policy, merchant },
        ...{ goods_folder: context.goodsFolder ?? null, sell_from: context.sellFrom },
      },
      // The data has sellers' titles and names.
      untrusted: true,
    };
  },
});
