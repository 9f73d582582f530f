import { listSpends, type SpendRow } from '../../agent/list-purchases.ts';
import { readPolicy } from '../../agent/policy.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import type { Cli, Done } from '../cli.ts';
import type { Command } from '../command.ts';
import { openBook } from '../open-purse.ts';
import { oneLine } from '../printable.ts';

async function run(cli: Cli): Promise<Done> {
  const book = await openBook(cli);
  const rows = await listSpends(book);
  const { perDayUnits } = await readPolicy(cli.env);
  const today = { spent_today_usdc: usdcOfUnits(await book.spentToday()), per_day_usdc: usdcOfUnits(perDayUnits) };
  const purchases = rows.filter(({ kind }) => kind === 'purchase');
  const fees = rows.filter(({ kind }) => kind === 'listing_fee');
  return {
    lines: [
      ...purchases.map(sayRow),
      ...fees.map((row) => `fee ${sayRow(row)}`),
      `today ${today.spent_today_usdc} of ${today.per_day_usdc} USDC, wallet ${book.address}`,
    ],
    json: { wallet: book.address, ...today, purchases, fees },
    secrets: [],
  };
}

function sayRow({ at, listing_id, amount_usdc, state, goods, title, seller, path }: SpendRow): string {
  const what = goods === null ? state : `${state}, ${goods}`;
  const of = seller === null ? '' : ` of ${seller}`;
  const where = path === null ? '' : `  ${path}`;
  return `${at.slice(0, 10)}  ${listing_id ?? '-'}  ${amount_usdc} USDC  ${what}  “${oneLine(title, 60)}”${of}${where}`;
}

export const purchases: Command = {
  name: 'purchases',
  summary: 'what this wallet paid for from here, fees too, what is under way, and whether the goods are as they came',
  positionals: [],
  options: ['wallet'],
  examples: ['openaisle purchases', 'openaisle purchases --json'],
  run,
};
