import { z } from 'zod';
import { buyGoods } from '../../agent/buy-goods.ts';
import { sayUsdc, usdcOfUnits } from '../../contract/money.ts';
import { checkPurchase } from '../check-purchase.ts';
import { firstLines } from '../first-lines.ts';
import { localTool, PAYS } from '../local-tool.ts';

const input = z.strictObject({
  listing_id: z.int().min(1).describe('the listing to buy'),
  max_price_usdc: z
    .number()
    .min(0)
    .max(10_000)
    .describe('the most that it may cost; the owner’s policy may allow less'),
});

export const buy = localTool({
  name: 'buy',
  title: 'Buy goods',
  description:
    'Signs one payment under the owner’s policy, waits until it is final, checks the goods against what the listing promised, and saves them to a file. Takes up to 20 minutes in several calls: while it answers waiting, call it again with the same arguments. Goods that were bought before are given again without paying.',
  input,
  hints: PAYS,
  run: async (context, { listing_id, max_price_usdc }, call) => {
    const { client, goodsFolder, log } = context;
    const purse = await context.openPurse();
    const bought = await call.pay((paying) =>
      buyGoods({
        ...purse,
        ...paying,
        client,
        listingId: listing_id,
        maxPriceUsdc: max_price_usdc,
        outDir: goodsFolder,
      }),
    );
    const { path, title, seller, goods, paidUnits, alreadyHere } = bought;
    log(`${alreadyHere ? 'given again' : 'bought'}: listing ${listing_id}, ${sayUsdc(paidUnits)}`);
    const how = alreadyHere ? 'was bought before, and nothing was paid now' : `was bought for ${sayUsdc(paidUnits)}`;
    return {
      said: [
        `Listing ${listing_id} ${how}. The goods are what the listing promised: ${goods.bytes} bytes in the file that path names.`,
      ],
      data: {
        ...{ status: 'bought', listing_id, title, seller, path, bytes: goods.bytes, media_type: goods.media_type },
        ...{ paid_usdc: usdcOfUnits(paidUnits), already_here: alreadyHere, commitment: goods.commitment },
        tx_hash: goods.receipt?.tx_hash ?? null,
        verified: await checkPurchase(context, purse.book, listing_id),
        first_lines: await firstLines(path),
      },
      untrusted: true,
    };
  },
});
