import { endpoints } from '../../contract/index.ts';
import { DOWNLOAD_PATH } from '../../contract/uploads.ts';
import { toHex } from '../../platform/hex.ts';
import { headerValues, readPaymentHeaders } from '../../platform/http/caller-headers.ts';
import { refuseIssues } from '../../platform/http/failure.ts';
import { type Incoming, type Outgoing, readQuery, releaseBody } from '../../platform/http/message.ts';
import type { ExtraRoute, InternalRequests } from '../../platform/http/server-options.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, Merchant } from '../context.ts';
import { isRangeOf, readRange } from '../goods/downloads/byte-range.ts';
import { attachmentOf } from '../goods/downloads/content-disposition.ts';
import { GoodsFile } from '../goods/downloads/goods-file.ts';
import { openOwnGoods } from './deliver.ts';

interface Downloads {
  market: Market;
  inside: InternalRequests<Merchant>;
}

/**
 * GET and HEAD /api/download/:id. POST /api/buy/:id with `collect` decides who may have the goods, so that there is one rule. The seller,
 * who cannot buy them, is known by GET /api/me/listing/:id.
 */
export function mountDownloads(market: Market, inside: InternalRequests<Merchant>): ExtraRoute {
  return {
    method: 'GET',
    withHead: true,
    path: `${DOWNLOAD_PATH}/:id`,
    answer: (incoming) => answerDownload({ market, inside }, incoming),
  };
}

async function answerDownload(downloads: Downloads, incoming: Incoming): Promise<Outgoing> {
  mustHaveNoQuery(incoming);
  const { rawHeaders } = incoming;
  const hasKey = headerValues(rawHeaders, 'authorization').length > 0;
  const caller = hasKey ? await downloads.inside.identify(incoming) : null;
  const { deliveryToken, downloadToken } = readPaymentHeaders(rawHeaders);
  const tokens = {
    ...(deliveryToken === null ? {} : { 'x-delivery-token': deliveryToken }),
    ...(downloadToken === null ? {} : { 'x-download-token': downloadToken }),
  };
  const found = await findGoods(downloads, incoming, { caller, tokens });
  return found instanceof GoodsFile ? sendFile(found, incoming) : found;
}

function mustHaveNoQuery({ target }: Incoming): void {
  const keys = Object.keys(readQuery(target.query));
  if (keys.length > 0)
    throw refuseIssues([{ code: 'unrecognized_keys', keys, path: [], message: '' }], 'invalid_query');
}

interface Shown {
  caller: Merchant | null;
  tokens: Readonly<Record<string, string>>;
}

/** Returns the goods, or the answer of a caller who may not have them now. */
async function findGoods(downloads: Downloads, incoming: Incoming, shown: Shown): Promise<GoodsFile | Outgoing> {
  const { caller, tokens } = shown;
  const { id = '' } = incoming.params;
  const answer = await downloads.inside.ask(
    {
      route: `POST ${endpoints.buyListing.path}`,
      params: { id },
      headers: { ...tokens, accept: 'application/octet-stream' },
      body: { collect: true },
    },
    incoming,
    caller ?? undefined,
  );
  if (answer.body instanceof GoodsFile) return answer.body;
  const own = await findOwnGoods(downloads, incoming, { id, caller, status: answer.status });
  if (own === null && answer.status !== 402) return answer;
  releaseBody(answer);
  return own ?? refuseUnbought(id, shown);
}

const NOT_BOUGHT: readonly number[] = [402, 403, 404];

/** Opens the goods of the seller. Null if the caller is another merchant or none. */
async function findOwnGoods(
  { market, inside }: Downloads,
  incoming: Incoming,
  { id, caller, status }: { id: string; caller: Merchant | null; status: number },
): Promise<GoodsFile | null> {
  if (caller === null || !NOT_BOUGHT.includes(status)) return null;
  const route = `GET ${endpoints.getOwnListing.path}`;
  const answer = await inside.ask({ route, params: { id } }, incoming, caller);
  releaseBody(answer);
  return answer.status === 200 ? await openOwnGoods(market, BigInt(id), caller.id) : null;
}

/** Refuses in place of the terms of payment, because nothing is bought at this address. */
function refuseUnbought(id: string, { caller, tokens }: Shown): never {
  const nextStep = `POST /api/buy/${id} sells these goods. Then send here what bought them: the key, X-Delivery-Token, or the X-Download-Token that a signature got.`;
  if (caller === null && Object.keys(tokens).length === 0) {
    throw new Refusal('key_required', { detail: 'These goods are downloaded by those who bought them.', nextStep });
  }
  throw new Refusal('nothing_to_collect', { detail: 'What you sent has not bought these goods.', nextStep });
}

function sendFile(file: GoodsFile, { method, headers: asked }: Incoming): Outgoing {
  const { listingId, commitment, filename } = file.facts;
  const etag = `"${toHex(commitment)}"`;
  const headers: Outgoing['headers'] = {
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-store',
    'content-disposition': attachmentOf(filename ?? `listing-${listingId}`),
    // The seller's media type could make a browser run the goods as a script of this site.
    'content-type': 'application/octet-stream',
    etag,
  };
  // HEAD tells about the whole: a range is defined for GET only (RFC 9110, 14.2).
  const isRanged = method === 'GET' && isRangeOf(singleOf(asked['if-range']), etag);
  const range = isRanged ? readRange(asked.range, file.length) : 'whole';
  if (range === 'beyond') {
    throw new Refusal('range_not_satisfiable', {
      detail: `The goods have ${file.length} bytes.`,
      headers: { 'content-range': `bytes */${file.length}`, 'accept-ranges': 'bytes' },
    });
  }
  if (range === 'whole') {
    return { status: 200, headers: { ...headers, 'content-length': String(file.length) }, body: file };
  }
  const { from, to } = range;
  const contentRange = `bytes ${from}-${to - 1}/${file.length}`;
  return {
    status: 206,
    headers: { ...headers, 'content-length': String(to - from), 'content-range': contentRange },
    body: file.read(range),
  };
}

function singleOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}
