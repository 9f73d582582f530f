import { buyGoods } from '../../agent/buy-goods.ts';
import { sayUsdc, usdcOfUnits } from '../../contract/money.ts';
import type { Cli, Done } from '../cli.ts';
import { wrongUse } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { neededMarket } from '../find-file.ts';
import { openAccount } from '../open-account.ts';
import { notPaid, openPurse } from '../open-purse.ts';
import { OF_A_MERCHANT } from '../options.ts';
import { oneLine } from '../printable.ts';
import { readId, readUsdc } from '../read-values.ts';

async function run(cli: Cli): Promise<Done> {
  const { options, positionals } = cli;
  const listingId = readId(positionals[0]);
  const maxPriceUsdc = readUsdc(options.max, 'max');
  if (maxPriceUsdc === undefined) throw wrongUse('How much may it cost at most? Give --max USDC');
  const { market, key } = await buyerOf(cli);
  const purse = await openPurse(cli);
  const bought = await buyGoods({
    ...purse,
    client: cli.connect(market, key),
    listingId,
    maxPriceUsdc,
    outDir: options.dir,
  }).catch((error: unknown) => {
    throw notPaid(error, purse.wallet, `openaisle buy ${listingId} --max ${options.max} --market ${market}`);
  });
  const { path, title, seller, goods, paidUnits, alreadyHere } = bought;
  const how = alreadyHere ? 'bought before, and still here' : `paid ${sayUsdc(paidUnits)}`;
  return {
    lines: [
      `“${oneLine(title)}” of ${seller}: ${how}; it is what the listing promised`,
      ...(goods.receipt === null ? [] : [`transaction ${goods.receipt.tx_hash}`]),
      `goods ${path}`,
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
      receipt: goods.receipt,
    },
    secrets: [],
  };
}

/** With a merchant's key the purchase is the merchant's; it is used only where one was named. */
async function buyerOf(cli: Cli): Promise<{ market: string; key?: string }> {
  const { handle, file, 'key-stdin': typed } = cli.options;
  if (handle === undefined && file === undefined && typed !== true) return { market: neededMarket(cli) };
  const { market, key } = await openAccount(cli);
  return { market, key };
}

export const buy: Command = {
  name: 'buy',
  summary:
    'buys goods under the wallet’s policy, waits until the payment is final, and keeps them; run again, it goes on',
  positionals: [{ name: 'ID', required: true }],
  options: ['max', 'wallet', 'dir', ...OF_A_MERCHANT, 'pay-again', 'pay-anew'],
  examples: ['openaisle buy 7 --max 2.5', 'openaisle buy 7 --max 2.5 --dir goods --json'],
  run,
};
