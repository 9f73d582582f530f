import { realpath } from 'node:fs/promises';
import { isAbsolute, relative, resolve } from 'node:path';
import { z } from 'zod';
import { refusedFile } from '../../agent/agent-error.ts';
import type { GoodsFile } from '../../agent/goods/goods-file.ts';
import { type SellGoodsOptions, sellGoods, tryListing } from '../../agent/sell-goods.ts';
import { formatUsdc, usdcOfUnits } from '../../contract/money.ts';
import { ofOwner, own } from '../../contract/own-words.ts';
import { KEYWORDS_SAY } from '../../contract/tool-arguments.ts';
import { UPLOAD_ID } from '../../contract/uploads.ts';
import { AISLES, INLINE_ARTIFACT_BYTES } from '../../contract/vocabulary.ts';
import { localTool, PAYS, type ToolCall } from '../local-tool.ts';
import type { ToolAnswer, ToolContext } from '../tool-context.ts';

const input = z.strictObject({
  title: z.string().min(3).max(120).describe('3 to 120 characters, public'),
  description: z.string().min(1).max(4_000).describe('what it is and who it helps, public'),
  price_usdc: z.number().min(0).max(10_000).describe('what buyers pay this wallet; it can never change'),
  text: z
    .string()
    .min(1)
    .max(INLINE_ARTIFACT_BYTES)
    .optional()
    .describe('the goods as text; give this, path or artifact_upload'),
  path: z
    .string()
    .min(1)
    .max(4_096)
    .optional()
    .describe('file or folder with the goods, of any size, inside the folder that the owner allowed'),
  artifact_upload: z
    .string()
    .regex(UPLOAD_ID)
    .optional()
    .describe('the goods as the ID of a complete upload of this merchant; path uploads by itself'),
  preview: z.string().max(4_000).optional().describe('what anyone may read before buying'),
  aisle: z.enum(AISLES).optional().describe('the kind of goods'),
  tags: z.array(z.string().max(40)).max(8).optional().describe('up to 8 tags of a-z, 0-9 and -'),
  keywords: z.array(z.string().max(40)).max(20).optional().describe(KEYWORDS_SAY),
  license: z.string().max(100).optional().describe('an SPDX license expression, or other'),
  media_type: z.string().max(200).optional().describe('media type of the goods, such as text/markdown'),
  max_fee_usdc: z.number().min(0).max(100).default(1).describe('highest listing fee to pay'),
  dry_run: z.boolean().default(false).describe('true: check everything; list and pay nothing'),
});
type Args = z.output<typeof input>;
type Body = SellGoodsOptions['listing'];

interface Goods {
  fields: Partial<Body>;
  file?: GoodsFile;
  notes: readonly string[];
}

async function goodsOf(context: ToolContext, { text, path, artifact_upload, media_type }: Args): Promise<Goods> {
  if ([text, path, artifact_upload].filter((given) => given !== undefined).length !== 1)
    throw refusedFile(own`Give the goods as one of text, path and artifact_upload`, undefined, 'wrong_use');
  if (path !== undefined) return await context.readGoods(await resolveInside(context, path), media_type);
  const type = media_type === undefined ? {} : { artifact_media_type: media_type };
  if (artifact_upload !== undefined) return { fields: { artifact_upload, ...type }, notes: [] };
  return { fields: { artifact: text ?? '', artifact_encoding: 'utf-8', ...type }, notes: [] };
}

/** Resolves a path inside the owner's folder. Otherwise a listing could talk a model into publishing any file of this machine. */
async function resolveInside({ sellFrom }: Pick<ToolContext, 'sellFrom'>, path: string): Promise<string> {
  if (sellFrom === null)
    throw refusedFile(
      own`No files may be sold: the owner allowed no folder`,
      own`Give the goods as text, or ask the owner to start this server with --sell-from DIR.`,
      'file_not_allowed',
    );
  const folder = await realpath(sellFrom);
  const full = await realpath(resolve(folder, path));
  const inside = relative(folder, full);
  if (!isAbsolute(inside) && !inside.split(/[\\/]/).some((part) => part.startsWith('.'))) return full;
  throw refusedFile(
    own`Goods must be inside ${ofOwner(sellFrom)}, and not under a name that starts with a dot`,
    own`Move the file there, or give the goods as text.`,
    'file_not_allowed',
  );
}

interface Order {
  listing: Body;
  file?: GoodsFile | undefined;
  notes: readonly string[];
}

async function orderOf(context: ToolContext, args: Args): Promise<Order> {
  const { title, description, price_usdc, preview = '', aisle, tags, keywords, license } = args;
  const { fields, file, notes } = await goodsOf(context, args);
  const listing = {
    ...{ title, description, preview, price_usdc },
    ...(aisle === undefined ? {} : { aisle }),
    ...(tags === undefined ? {} : { tags }),
    ...(keywords === undefined ? {} : { keywords }),
    ...(license === undefined ? {} : { license }),
    seller_wallet: await context.walletAddress(),
    ...fields,
  };
  return { listing, file, notes };
}

async function dryRun(context: ToolContext, { listing, file }: Order, call: ToolCall): Promise<ToolAnswer> {
  const { folder } = context;
  const tried = await call.pay(({ onBytes, signal }) =>
    context.callAsMerchant((client) => tryListing({ client, folder, listing, file, onBytes, signal })),
  );
  const fee = tried.feeUsdc ?? 0;
  return {
    said: [own`The market would accept it for a fee of ${fee} USDC. Nothing was listed or paid.`],
    data: { status: 'dry_run', would_cost_usdc: fee },
    untrusted: false,
  };
}

export const sell = localTool({
  name: 'sell',
  title: 'Sell goods',
  description:
    'Lists goods in the owner’s store and pays the listing fee under the owner’s policy. Title, description and preview become public at once; use dry_run to check first. While it answers waiting, call it again with the same arguments.',
  input,
  hints: PAYS,
  run: async (context, args, call) => {
    const order = await orderOf(context, args);
    const { listing, file, notes } = order;
    if (args.dry_run) return await dryRun(context, order, call);
    const session = await context.openWalletSession();
    const sold = await call.pay((paying) =>
      context.callAsMerchant((client) =>
        sellGoods({ ...session, ...paying, client, listing, file, maxFeeUsdc: args.max_fee_usdc }),
      ),
    );
    const { listing_id, url, tx_hash, paidUnits, alreadyListed, verified } = sold;
    const isLive = verified
      ? own`Listing ${listing_id} is live${alreadyListed ? own`; it was listed before` : own``}.`
      : own`Only an import says that this is listed as ${listing_id}. Not verified: use show to check.`;
    context.log(`${alreadyListed ? 'listed before' : 'listed'}: listing ${listing_id}, fee ${formatUsdc(paidUnits)}`);
    return {
      said: [isLive],
      data: {
        ...{ status: 'listed', listing_id, url, fee_usdc: usdcOfUnits(paidUnits), tx_hash },
        ...{ already_listed: alreadyListed, verified },
        // Notes contain file names.
        ...(notes.length === 0 ? {} : { notes }),
      },
      untrusted: !verified || notes.length > 0,
    };
  },
});
