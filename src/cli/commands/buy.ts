import { buyGoods } from '../../agent/buy-goods.ts';
import { type Finished, finishSpends } from '../../agent/finish-spends.ts';
import type { SpendRecord } from '../../agent/spend-record.ts';
import { inQuotes, oneLine } from '../../contract/foreign-words.ts';
import { formatUsdc, usdcOfUnits } from '../../contract/money.ts';
import { own } from '../../contract/own-words.ts';
import type { Cli, Command, CommandOutput } from '../cli.ts';
import { CliError, toCliError, wrongUse } from '../cli-error.ts';
import { namedMarket, openAccount, readMarket, requiredMarket } from '../open-account.ts';
import { openWalletSession, toPaymentError } from '../open-wallet-session.ts';
import { MERCHANT_OPTIONS } from '../options.ts';
import { foreignLine, type Line } from '../printable.ts';
import { readId, readUsdc } from '../read-values.ts';

const UNVERIFIED_WARNING =
  'An import added this purchase, so the file may come from anyone: don’t run it. If you never bought it, move its record away: openaisle verify shows the path.';

async function buyListing(cli: Cli): Promise<CommandOutput> {
  const { options, positionals } = cli;
  const listingId = readId(positionals[0]);
  const maxPriceUsdc = readUsdc(options.max, 'max');
  if (maxPriceUsdc === undefined) throw wrongUse(own`What is the most you will pay? Give --max USDC`);
  const { market, key } = await buyerOf(cli);
  const session = await openWalletSession(cli);
  const bought = await buyGoods({
    ...session,
    client: cli.connect(market, key),
    listingId,
    maxPriceUsdc,
    outDir: options.dir,
  }).catch((error: unknown) => {
    throw toPaymentError(error, session.wallet);
  });
  const { path, title, seller, goods, paidUnits, alreadyHere, notVerified } = bought;
  const paid = paidUnits === 0n ? 'nothing was due' : `paid ${formatUsdc(paidUnits)}`;
  const how = alreadyHere ? 'bought before, still here' : paid;
  return {
    lines: [
      foreignLine(
        `${inQuotes(title)} by ${oneLine(seller, 32)}: ${how}. ${notVerified === null ? 'The goods match the listing.' : `Not verified: ${notVerified}.`}`,
      ),
      ...(goods.receipt === null ? [] : [`transaction ${goods.receipt.tx_hash}`]),
      foreignLine(`goods ${path}`),
      ...(notVerified === null ? [] : [UNVERIFIED_WARNING]),
    ],
    json: {
      market,
      listing_id: listingId,
      title,
      seller,
      path,
      bytes: goods.bytes,
      media_type: goods.media_type,
      commitment: goods.commitment,
      paid_usdc: usdcOfUnits(paidUnits),
      already_here: alreadyHere,
      verified: notVerified === null,
      ...(notVerified === null ? {} : { not_verified: notVerified }),
      receipt: goods.receipt,
    },
  };
}

/** Uses a merchant's key only if an option names the merchant or the key. The purchase then belongs to that merchant. */
export async function buyerOf(cli: Cli): Promise<{ market: string; key?: string }> {
  const { handle, file, 'key-stdin': typed } = cli.options;
  if (handle === undefined && file === undefined && typed !== true) return { market: requiredMarket(cli) };
  const { market, key } = await openAccount(cli);
  return { market, key };
}

export const buy: Command = {
  name: 'buy',
  summary:
    'buys a listing under the wallet’s policy, waits until the payment is final, saves the goods; run again to resume',
  positionals: [{ name: 'ID', required: true }],
  options: ['max', 'wallet', 'dir', ...MERCHANT_OPTIONS, 'pay-again', 'pay-anew', 'market-calls-itself'],
  examples: ['openaisle buy 7 --max 2.5', 'openaisle buy 7 --max 2.5 --dir goods --json'],
  run: buyListing,
};

async function resumePayments(cli: Cli): Promise<CommandOutput> {
  const [id] = cli.positionals;
  const listingId = id === undefined ? undefined : readId(id);
  const market = namedMarket(cli);
  const session = await openWalletSession(cli);
  const finished = await finishSpends({
    ...session,
    isSelected: (record) =>
      (listingId === undefined || record.listing_id === listingId) && (market === null || record.market === market),
    connect: async (record) => cli.connect(readMarket(cli, record.market), await keyFor(cli, record)),
    onBegin: (record) => cli.note(foreignLine(`resuming ${inQuotes(record.title)} at ${record.market}`)),
  });
  const lines = finished.map(sayFinished);
  const failed = finished.find((one) => 'error' in one);
  if (failed === undefined) {
    const said = lines.length === 0 ? ['This wallet has no payments in progress.'] : lines;
    return { lines: said, json: { finished: finished.map(jsonOf) } };
  }
  const { trouble, parts } = toPaymentError(
    'error' in failed ? failed.error : null,
    session.wallet,
    own`openaisle wait`,
  );
  // A failed payment doesn't stop the others, so JSON lists them all.
  throw new CliError(trouble, { ...parts, lines, more: { finished: finished.map(jsonOf) } });
}

/** Listing needs the merchant's key; goods are collected by the wallet alone. */
async function keyFor(cli: Cli, record: SpendRecord): Promise<string | undefined> {
  if (record.kind === 'purchase') return undefined;
  return (await openAccount({ ...cli, options: { ...cli.options, market: record.market } })).key;
}

function sayFinished(one: Finished): Line {
  const title = inQuotes(one.record.title);
  if ('bought' in one) return foreignLine(`${title}: goods ${one.bought.path}`);
  if ('sold' in one) return foreignLine(`${title}: listing ${one.sold.listing_id}, ${one.sold.url}`);
  return foreignLine(`${title}: not done`);
}

function jsonOf(one: Finished): Record<string, unknown> {
  const { kind, market, title } = one.record;
  if ('bought' in one) return { kind, market, title, listing_id: one.record.listing_id, path: one.bought.path };
  if ('sold' in one) return { kind, market, title, listing_id: one.sold.listing_id, url: one.sold.url };
  return { kind, market, title, listing_id: one.record.listing_id, reason: toCliError(one.error).parts.reason };
}

export const wait: Command = {
  name: 'wait',
  summary: 'resumes signed, unfinished payments: of one listing, or of the whole wallet',
  positionals: [{ name: 'ID', required: false }],
  options: ['wallet', ...MERCHANT_OPTIONS, 'pay-again', 'pay-anew', 'market-calls-itself'],
  examples: ['openaisle wait', 'openaisle wait 7'],
  run: resumePayments,
};
