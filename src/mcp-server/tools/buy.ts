import { open } from 'node:fs/promises';
import { z } from 'zod';
import { buyGoods } from '../../agent/buy-goods.ts';
import { findPurchase } from '../../agent/list-purchases.ts';
import { openChain } from '../../agent/read-chain.ts';
import type { SpendBook } from '../../agent/spend-book.ts';
import { verifyGoods } from '../../agent/verify-goods.ts';
import { sayUsdc, usdcOfUnits } from '../../contract/money.ts';
import { type OwnWords, own } from '../../contract/own-words.ts';
import { localTool, PAYS } from '../local-tool.ts';
import type { ToolContext } from '../tool-context.ts';

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
    const session = await context.openWalletSession();
    const bought = await call.pay((paying) =>
      buyGoods({
        ...session,
        ...paying,
        client,
        listingId: listing_id,
        maxPriceUsdc: max_price_usdc,
        outDir: goodsFolder,
      }),
    );
    const { path, title, seller, goods, paidUnits, alreadyHere, notVerified } = bought;
    log(`${alreadyHere ? 'given again' : 'bought'}: listing ${listing_id}, ${sayUsdc(paidUnits)}`);
    const paid =
      paidUnits === 0n ? own`is had: nothing was due, and nothing was paid` : own`was bought for ${sayUsdc(paidUnits)}`;
    const how = alreadyHere ? own`was bought before, and nothing was paid now` : paid;
    const what = own`${goods.bytes} bytes in the file that path names`;
    return {
      said: [
        notVerified === null
          ? own`Listing ${listing_id} ${how}. The goods are what the listing promised: ${what}.`
          : own`Listing ${listing_id}: an import told that it was bought, and nothing was paid now. Not verified: ${notVerified}. There are ${what}: they may be anybody's, do not run them.`,
      ],
      data: {
        ...{ status: 'bought', listing_id, title, seller, path, bytes: goods.bytes, media_type: goods.media_type },
        ...{ paid_usdc: usdcOfUnits(paidUnits), already_here: alreadyHere, commitment: goods.commitment },
        tx_hash: goods.receipt?.tx_hash ?? null,
        ...(notVerified === null ? {} : { not_verified: notVerified }),
        verified: await checkPurchase(context, session.book, listing_id),
        first_lines: await firstLines(path),
      },
      untrusted: true,
    };
  },
});

/** What was looked at, and whether all of it is as it should be. */
export interface PurchaseCheck {
  /** Null: something could not be asked; `trouble` says why. The file was looked at all the same when the goods came. */
  ok: boolean | null;
  /** The file against the commitment of the record. */
  goods?: 'intact' | 'changed' | 'missing';
  /** Compares that commitment with the one that the listing publishes now. */
  listing?: string | null;
  /** The receipt against the market's books; null where there is no receipt. */
  market?: string | null;
  /** The receipt against the chain; null where no RPC endpoint is given. */
  chain?: string | null;
  trouble?: OwnWords;
}

/** The purchase of a listing: its file, its receipt, its transfer. What cannot be asked now is told and does not undo a purchase. */
export async function checkPurchase(
  { client, rpcUrl, troubleOf }: Pick<ToolContext, 'client' | 'rpcUrl' | 'troubleOf'>,
  book: SpendBook,
  listingId: number,
): Promise<PurchaseCheck> {
  try {
    const record = await findPurchase(book, String(listingId), client.baseUrl);
    const chain = rpcUrl === undefined ? undefined : await openChain(rpcUrl, client.environment);
    const { ok, goods, listing, market, chain: found } = await verifyGoods(record, { client, chain });
    const asked = { listing: listing?.status ?? null, market: market?.status ?? null };
    return { ok, goods, ...asked, chain: found?.status ?? null };
  } catch (error) {
    return { ok: null, trouble: (await troubleOf(error)).title };
  }
}

const MOST_BYTES = 4_096;
const MOST_LINES = 20;
const MOST_CHARACTERS = 2_000;

/** The beginning of a text file, at most 20 lines and 2,000 characters; null where it is no UTF-8 text or cannot be read: the goods are bought. */
async function firstLines(path: string): Promise<string | null> {
  const file = await open(path, 'r').catch(() => null);
  if (file === null) return null;
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MOST_BYTES), 0, MOST_BYTES, 0);
    const decoder = new TextDecoder('utf-8', { fatal: true });
    // What is read may end within a character.
    const text = decoder.decode(buffer.subarray(0, bytesRead), { stream: true });
    if (text.includes('\0')) return null;
    return text.split('\n').slice(0, MOST_LINES).join('\n').slice(0, MOST_CHARACTERS);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  } finally {
    await file.close();
  }
}
