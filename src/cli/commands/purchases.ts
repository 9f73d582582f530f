import { findPurchase, listSpends, type SpendRow } from '../../agent/list-purchases.ts';
import { readPolicy } from '../../agent/policy.ts';
import { openChain } from '../../agent/read-chain.ts';
import { isVerified } from '../../agent/spend-record.ts';
import { markVerified, verifyGoods } from '../../agent/verify-goods.ts';
import { inQuotes, oneLine } from '../../contract/foreign-words.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import { ofOwner, own } from '../../contract/own-words.ts';
import type { Cli, Command, CommandOutput } from '../cli.ts';
import { CliError } from '../cli-error.ts';
import { namedMarket } from '../open-account.ts';
import { openBook } from '../open-wallet-session.ts';
import { foreignLine } from '../printable.ts';

async function listPurchases(cli: Cli): Promise<CommandOutput> {
  const book = await openBook(cli);
  const rows = await listSpends(book);
  const { perDayUnits } = await readPolicy(cli.env);
  const today = { spent_today_usdc: usdcOfUnits(await book.spentToday()), per_day_usdc: usdcOfUnits(perDayUnits) };
  const purchases = rows.filter(({ kind }) => kind === 'purchase');
  const fees = rows.filter(({ kind }) => kind === 'listing_fee');
  return {
    lines: [
      ...purchases.map((row) => foreignLine(sayRow(row))),
      ...fees.map((row) => foreignLine(`fee ${sayRow(row)}`)),
      `today ${today.spent_today_usdc} of ${today.per_day_usdc} USDC, wallet ${book.address}`,
    ],
    json: { wallet: book.address, ...today, purchases, fees },
  };
}

function sayRow({ at, listing_id, amount_usdc, state, goods, title, seller, path, verified }: SpendRow): string {
  const what = [state, ...(goods === null ? [] : [goods]), ...(verified === false ? ['not verified'] : [])].join(', ');
  const by = seller === null ? '' : ` by ${oneLine(seller, 32)}`;
  const where = path === null ? '' : `  ${path}`;
  const amount = amount_usdc === 0 ? 'nothing due' : `${amount_usdc} USDC`;
  return `${at.slice(0, 10)}  ${listing_id ?? '-'}  ${amount}  ${what}  ${inQuotes(title, 60)}${by}${where}`;
}

export const purchases: Command = {
  name: 'purchases',
  summary: 'lists what this wallet bought and which fees it paid from here, and checks that the goods are unchanged',
  positionals: [],
  options: ['wallet'],
  examples: ['openaisle purchases', 'openaisle purchases --json'],
  run: listPurchases,
};

async function verifyPurchase(cli: Cli): Promise<CommandOutput> {
  const { options, env, positionals } = cli;
  const book = await openBook(cli);
  const record = await findPurchase(book, positionals[0] ?? '', namedMarket(cli));
  const rpc = options.rpc ?? env['OPENAISLE_RPC'];
  const chain = rpc === undefined || rpc === '' ? undefined : await openChain(rpc);
  const report = await verifyGoods(record, { client: cli.connect(record.market), chain });
  const { path, commitment, goods, receipt, listing, market } = report;
  const unpaid = receipt === null ? 'nothing was paid' : null;
  const lines = [
    `goods ${goods}: ${path}`,
    `commitment ${commitment}`,
    `listing: ${listing?.status} (${listing?.detail})`,
    `market: ${unpaid ?? `${market?.status} (${market?.detail})`}`,
    `chain: ${unpaid ?? (report.chain === null ? 'not checked; add --rpc URL to check it' : `${report.chain.status} (${report.chain.detail})`)}`,
  ];
  if (report.ok) {
    await markVerified(book, record);
    return { lines, json: { ...report } };
  }
  const nextStep = isVerified(record)
    ? own`Keep the receipt. If goods changed or are missing, run openaisle buy to get them again without paying.`
    : own`An import added this record. If you never bought these goods, don’t run them, and move the record away: ${ofOwner(book.pathOf(record))}`;
  throw new CliError('refused', {
    reason: 'not_verified',
    title: own`Some checks failed`,
    lines,
    nextStep,
    more: { ...report },
  });
}

export const verify: Command = {
  name: 'verify',
  summary:
    'checks bought goods, by listing ID or file: against the listing’s commitment, the market’s receipt and the chain',
  positionals: [{ name: 'GOODS', required: true }],
  options: ['rpc', 'wallet'],
  examples: ['openaisle verify 7', 'openaisle verify 7 --rpc https://rpc.example'],
  run: verifyPurchase,
};
