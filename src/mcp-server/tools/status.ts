import { z } from 'zod';
import { isUnderWay } from '../../agent/finish-spends.ts';
import { openChain } from '../../agent/read-chain.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import { localTool, READS } from '../local-tool.ts';
import type { ToolContext } from '../tool-context.ts';

/** The wallet and its book, or why there is none to look at. */
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
  const { path, isOwn, perPurchaseUnits, perDayUnits, askAboveUnits, sellers, aisles, markets } =
    await context.readPolicy();
  return {
    file: isOwn ? path : null,
    per_purchase_usdc: usdcOfUnits(perPurchaseUnits),
    per_day_usdc: usdcOfUnits(perDayUnits),
    ask_above_usdc: askAboveUnits === null ? null : usdcOfUnits(askAboveUnits),
    ...{ sellers, aisles, markets },
  };
}

export const status = localTool({
  name: 'status',
  title: 'Wallet, limits and open payments',
  description:
    'The market, the wallet’s address and, where an RPC endpoint is given, its balance; the owner’s limits and what is spent of them today; payments under way; whether selling is set up.',
  input: z.strictObject({}),
  hints: READS,
  run: async (context) => {
    const orTrouble = async <T>(work: Promise<T>): Promise<T | { trouble: string; next_step: string | null }> => {
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
        'address' in wallet ? `Wallet ${wallet.address}.` : 'No wallet that can pay.',
        open === 0
          ? 'No payment is under way.'
          : `Payments under way: ${open}. The same buy or sell goes on with them.`,
      ],
      data: {
        ...{ market: context.client.baseUrl, wallet, policy, merchant },
        ...{ goods_folder: context.goodsFolder ?? null, sell_from: context.sellFrom },
      },
      // Titles of goods under way.
      untrusted: open > 0,
    };
  },
});
