import { buyGoods } from '../../agent/buy-goods.ts';
import { inQuotes } from '../../contract/foreign-words.ts';
import type { Cli, Command, CommandOutput } from '../cli.ts';
import { openWalletSession, toPaymentError } from '../open-wallet-session.ts';
import { MERCHANT_OPTIONS } from '../options.ts';
import { countText, foreignLine } from '../printable.ts';
import { readId } from '../read-values.ts';
import { buyerOf } from './buy.ts';

async function downloadGoods(cli: Cli): Promise<CommandOutput> {
  const { options, positionals } = cli;
  const listingId = readId(positionals[0]);
  const { market, key } = await buyerOf(cli);
  const session = await openWalletSession(cli);
  const { path, title, goods, alreadyHere, notVerified } = await buyGoods({
    ...session,
    client: cli.connect(market, key),
    listingId,
    // Allows no payment. Goods that the wallet or the key owns cost nothing, whatever their price.
    maxPriceUsdc: 0,
    collectOnly: true,
    outDir: options.dir,
    outFile: options.to,
  }).catch((error: unknown) => {
    throw toPaymentError(error, session.wallet);
  });
  const checked = notVerified === null ? 'They match the listing.' : `Not verified: ${notVerified}.`;
  return {
    lines: [
      foreignLine(`${inQuotes(title)}: ${countText(goods.bytes, 'byte')}. ${checked}`),
      foreignLine(`goods ${path}`),
    ],
    json: {
      ...{ market, listing_id: listingId, title, path, bytes: goods.bytes, media_type: goods.media_type },
      ...{ commitment: goods.commitment, already_here: alreadyHere, verified: notVerified === null },
      receipt: goods.receipt,
    },
  };
}

export const download: Command = {
  name: 'download',
  summary: 'saves goods that are bought already, or free; pays nothing, and continues where it was interrupted',
  positionals: [{ name: 'ID', required: true }],
  options: ['to', 'dir', 'wallet', ...MERCHANT_OPTIONS, 'market-calls-itself'],
  examples: ['openaisle download 7', 'openaisle download 7 --to data.zip'],
  run: downloadGoods,
};
