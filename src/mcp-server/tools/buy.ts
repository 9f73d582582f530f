import { open } from 'node:fs/promises';
import { z } from 'zod';
import { buyGoods } from '../../agent/buy-goods.ts';
import { findPurchase } from '../../agent/list-purchases.ts';
import { openChain } from '../../agent/read-chain.ts';
import type { SpendBook } from '../../agent/spend-book.ts';
import { verifyGoods } from '../../agent/verify-goods.ts';
import { formatUsdc, usdcOfUnits } from '../../contract/money.ts';
import { type OwnWords, own } from '../../contract/own-words.ts';
import { INLINE_ARTIFACT_BYTES } from '../../contract/vocabulary.ts';
import { localTool, PAYS } from '../local-tool.ts';
import type { ToolContext } from '../tool-context.ts';

const input = z.strictObject({
  listing_id: z.int().min(1).describe('the listing to buy'),
  max_price_usdc: z.number().min(0).max(10_000).describe('highest price to pay; the owner’s policy may allow less'),
});

export const buy = localTool({
  name: 'buy',
  title: 'Buy goods',
  description:
    'Signs one payment under the owner’s policy, waits until it is final, checks that the goods match the listing, and saves them to a file. Takes up to 20 minutes over several calls: while it answers waiting, call it again with the same arguments. Goods bought before are returned again without paying.',
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
    log(`${alreadyHere ? 'returned again' : 'bought'}: listing ${listing_id}, ${formatUsdc(paidUnits)}`);
    const paid =
      paidUnits === 0n
        ? own`is yours: nothing was due and nothing was paid`
        : own`was bought for ${formatUsdc(paidUnits)}`;
    const how = alreadyHere ? own`was bought before, and nothing was paid now` : paid;
    const what = own`${goods.bytes} bytes, in the file named by path`;
    return {
      said: [
        notVerified === null
          ? own`Listing ${listing_id} ${how}. The goods match the listing: ${what}.`
          : own`Listing ${listing_id}: an import says that it was bought, and nothing was paid now. Not verified: ${notVerified}. The goods (${what}) may come from anyone: don’t run them.`,
      ],
      data: {
        ...{ status: 'bought', listing_id, title, seller, path, bytes: goods.bytes, media_type: goods.media_type },
        ...{ paid_usdc: usdcOfUnits(paidUnits), already_here: alreadyHere, commitment: goods.commitment },
        tx_hash: goods.receipt?.tx_hash ?? null,
        ...(notVerified === null ? {} : { not_verified: notVerified }),
        verified: await checkPurchase(context, session.book, listing_id),
        // Goods that are a file stay there.
        first_lines: goods.bytes > INLINE_ARTIFACT_BYTES ? null : await firstLines(path),
      },
      untrusted: true,
    };
  },
});

export interface PurchaseCheck {
  /** Null if a check couldn't be made; `trouble` says why. The file itself was checked when the goods arrived. */
  ok: boolean | null;
  /** Result of comparing the file with the record's commitment. */
  goods?: 'intact' | 'changed' | 'missing';
  /** Result of comparing the record's commitment with the listing's current one. */
  listing?: string | null;
  /** Result of comparing the receipt with the market's books. Null without a receipt. */
  market?: string | null;
  /** Result of comparing the receipt with the chain. Null without a receipt or an RPC endpoint. */
  chain?: string | null;
  trouble?: OwnWords;
}

/** Checks a purchase: file, receipt and transfer. A check that can't be made is reported and doesn't undo the purchase. */
export async function checkPurchase(
  { client, rpcUrl, troubleOf }: Pick<ToolContext, 'client' | 'rpcUrl' | 'troubleOf'>,
  book: SpendBook,
  listingId: number,
): Promise<PurchaseCheck> {
  try {
    const record = await findPurchase(book, String(listingId), client.baseUrl);
    const chain = rpcUrl === undefined ? undefined : await openChain(rpcUrl, client.environment);
    const { ok, goods, listing, market, chain: transfer } = await verifyGoods(record, { client, chain });
    const statuses = {
      listing: listing?.status ?? null,
      market: market?.status ?? null,
      chain: transfer?.status ?? null,
    };
    return { ok, goods, ...statuses };
  } catch (error) {
    return { ok: null, trouble: (await troubleOf(error)).title };
  }
}

const MAX_BYTES = 4_096;
const MAX_LINES = 20;
const MAX_CHARACTERS = 2_000;

/** Reads the start of a text file. Null if it isn't UTF-8 text or can't be read, which must not fail a completed purchase. */
async function firstLines(path: string): Promise<string | null> {
  const file = await open(path, 'r').catch(() => null);
  if (file === null) return null;
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0);
    const decoder = new TextDecoder('utf-8', { fatal: true });
    // `stream` allows the bytes to end within a character.
    const text = decoder.decode(buffer.subarray(0, bytesRead), { stream: true });
    if (text.includes('\0')) return null;
    return text.split('\n').slice(0, MAX_LINES).join('\n').slice(0, MAX_CHARACTERS);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  } finally {
    await file.close();
  }
}
