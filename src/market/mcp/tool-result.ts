import { createHash } from 'node:crypto';
import { fenceText, UNTRUSTED_DATA } from '../../contract/text.ts';
import { META, type Tool } from '../../contract/tools.ts';
import type { SecretGuard } from '../../platform/secrets.ts';
import type { ReadAnswer } from './messages.ts';
import type { KnownTool } from './tool-catalog.ts';
import { isProblem, paymentSteps, rewriteAnswer, rewriteForTools, rewriteOwnTexts, TOPICS } from './tool-guide.ts';

/** The answer of a tool. Its text repeats the data for hosts that read only text, and is fenced if it contains text of merchants. */
export interface ToolResult {
  [field: string]: unknown;
  content: [{ type: 'text'; text: string }, ...GoodsLink[]];
  structuredContent: Record<string, unknown>;
  isError?: true;
  _meta?: Record<string, unknown>;
}

export type NamedTool = Pick<Tool, 'name' | 'title'>;

/** Goods are delivered unaltered or not at all. */
const NEVER_ALTERED = ['artifact'];

export interface ResultContext {
  baseUrl: string;
  guard: SecretGuard;
}

/**
 * Turns a route's answer into a tool's result: the body, and in `_meta` what HTTP sends in headers. `tool` is null if the call did not
 * reach its route. `listed` holds the tools shown to this caller, for answers that name them. Masks everything that looks like a key or a
 * code, except in goods.
 */
export function toolResult(
  { baseUrl, guard }: ResultContext,
  answer: ReadAnswer,
  tool: KnownTool | null,
  listed: readonly NamedTool[] = [],
): ToolResult {
  const { body, downloadToken } = takeDownloadToken(JSON.parse(answer.text) as Record<string, unknown>);
  const terms = answer.status === 402 ? readTerms(answer) : null;
  const isError = answer.status >= 400;
  const receipt = decodeHeader(answer.headers['payment-response']);
  const token = body['delivery_token'];
  const holdsText = tool?.holdsMerchantText === true;
  const meta = {
    // Mark results with text of merchants. A refusal contains only our text, as do the terms to sign.
    ...(holdsText && !isError ? { [META.untrusted]: true } : {}),
    ...(receipt === null ? {} : { [META.receipt]: receipt }),
    ...(typeof token === 'string' ? { [META.deliveryToken]: token } : {}),
  };
  const rewritten = adaptToTool(tool?.name, rewriteAnswer(body), { baseUrl, listed });
  const linked = isError ? { body: rewritten, links: [] } : linkGoods({ baseUrl, guard }, rewritten);
  const whole = terms === null ? linked.body : { ...withPaymentSteps(tool?.name, linked.body), ...terms };
  const data = maskSecrets(guard, whole);
  const plain = JSON.stringify(data);
  // Leave the terms to sign as x402 clients read them. They contain no text of merchants.
  const text = holdsText && !isError ? fenceText(plain, sha256) : plain;
  return {
    content: [{ type: 'text', text }, ...linked.links],
    // Put the warning into the data too, because some hosts show only the data.
    structuredContent: holdsText && !isError ? { untrusted: UNTRUSTED_DATA, ...data } : data,
    ...(isError ? { isError: true } : {}),
    ...(Object.keys(meta).length > 0 || downloadToken !== null
      ? {
          _meta: {
            ...maskSecrets(guard, meta),
            ...(downloadToken === null ? {} : { [META.downloadToken]: downloadToken }),
          },
        }
      : {}),
  };
}

/** Takes the download token out of a delivery. It goes into `_meta`, which models do not read. */
function takeDownloadToken(body: Record<string, unknown>): {
  body: Record<string, unknown>;
  downloadToken: string | null;
} {
  const { download } = body;
  if (!isDownload(download) || download.download_token === null) return { body, downloadToken: null };
  const { download_token: downloadToken, ...rest } = download;
  return { body: { ...body, download: { ...rest, download_token: null } }, downloadToken };
}

function maskSecrets(guard: SecretGuard, value: Record<string, unknown>): Record<string, unknown> {
  // Do not copy answers without secrets, which are most.
  return guard.inValue(value) ? (guard.maskValue(value, NEVER_ALTERED) as Record<string, unknown>) : value;
}

function withPaymentSteps(tool: string | undefined, problem: Record<string, unknown>): Record<string, unknown> {
  const next = tool === undefined || problem['reason'] !== 'payment_required' ? null : paymentSteps(tool);
  return next === null ? problem : { ...problem, next_step: next };
}

/** Adapts a body to tools. The front door and help name tools instead of addresses. */
function adaptToTool(
  tool: string | undefined,
  body: Record<string, unknown>,
  { baseUrl, listed }: { baseUrl: string; listed: readonly NamedTool[] },
): Record<string, unknown> {
  if (isProblem(body)) return body;
  if (tool === 'help') return { ...body, topics: TOPICS };
  if (tool === 'read_listing' && typeof body['artifact'] === 'string') {
    return { ...body, artifact: rewriteForTools(body['artifact']) };
  }
  if (tool === 'front_door') {
    const { endpoints: _, start, rules, ...rest } = body;
    const ownTexts = rewriteOwnTexts({ start, rules }, baseUrl) as object;
    return { ...rest, ...ownTexts, tools: listed.map(({ name, title }) => ({ name, title })) };
  }
  // Every text here is ours. Endpoints for programs that no tool replaces keep their addresses.
  if (tool === 'official_facts') return rewriteOwnTexts(body, baseUrl) as Record<string, unknown>;
  return body;
}

/** Returns the x402 version 2 terms, without the extensions that describe the HTTP request to catalogs of paid services. */
function readTerms({ headers }: ReadAnswer): Record<string, unknown> | null {
  const challenge = decodeHeader(headers['payment-required']);
  if (challenge === null) return null;
  const { extensions: _, error, ...terms } = challenge;
  return { ...terms, ...(typeof error === 'string' ? { error: rewriteForTools(error) } : {}) };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Decodes base64 of JSON, the form of x402 headers. */
function decodeHeader(header: string | readonly string[] | undefined): Record<string, unknown> | null {
  if (typeof header !== 'string') return null;
  return JSON.parse(Buffer.from(header, 'base64').toString('utf8')) as Record<string, unknown>;
}

/** Goods above this size are fetched over HTTP, to keep the context window small. */
const MAX_BYTES = 16_384;

interface GoodsLink {
  [field: string]: unknown;
  type: 'resource_link';
  uri: string;
  name: string;
  title: string;
  description: string;
  mimeType: string;
  size: number;
}

interface DownloadOfGoods {
  url: string;
  bytes: number;
  download_token: string | null;
}

function isDownload(value: unknown): value is DownloadOfGoods {
  return typeof value === 'object' && value !== null && 'url' in value && 'download_token' in value;
}

/** Files are never in a result, whatever their size. */
const HOW_TO_DOWNLOAD = `GET download.url with what bought the goods: the merchant key in Authorization, the delivery token in X-Delivery-Token, or _meta["${META.downloadToken}"] in X-Download-Token. Free goods of up to 1 MiB need none of them. Range continues a download that broke off. Check the bytes: SHA-256 over artifact_salt and them is artifact_commitment of the listing.`;

interface Goods {
  listing_id: number;
  artifact: string;
  artifact_encoding: 'utf-8' | 'base64';
  artifact_salt: string;
}

/** The address contains no credentials, so the text says which ones to send. */
const HOW_TO_FETCH =
  'POST the JSON {"collect": true} to artifact_url with Accept: application/octet-stream and with what bought the goods: the merchant key in Authorization, or the delivery token in X-Delivery-Token. For free goods taken without a key, POST {} instead. Check the bytes: SHA-256 over artifact_salt and them is artifact_commitment.';

/**
 * Replaces goods that are too large for a context window by their size, commitment and address. In a list of purchases, also replaces goods
 * that contain a secret, so that the others can still be shown.
 */
function linkGoods(
  { baseUrl, guard }: ResultContext,
  body: Record<string, unknown>,
): { body: Record<string, unknown>; links: GoodsLink[] } {
  const links: GoodsLink[] = [];
  const link = (one: Record<string, unknown>): Record<string, unknown> => {
    const { download, listing_id: id } = one;
    if (isDownload(download) && typeof id === 'number') {
      links.push(makeLink(id, download.url, { size: download.bytes, description: HOW_TO_DOWNLOAD }));
      return { ...one, how_to_fetch: HOW_TO_DOWNLOAD };
    }
    if (!isGoods(one)) return one;
    const bytes = Buffer.from(one.artifact, one.artifact_encoding === 'base64' ? 'base64' : 'utf8');
    if (bytes.length <= MAX_BYTES && (one === body || !guard.inText(one.artifact))) return one;
    const uri = `${baseUrl}/api/buy/${one.listing_id}`;
    links.push(makeLink(one.listing_id, uri, { size: bytes.length, description: HOW_TO_FETCH }));
    return {
      ...one,
      artifact: null,
      artifact_url: uri,
      artifact_bytes: bytes.length,
      artifact_commitment: commitmentOf(one.artifact_salt, bytes),
      how_to_fetch: HOW_TO_FETCH,
    };
  };
  const { purchases } = body;
  const linked = Array.isArray(purchases) ? { ...body, purchases: purchases.map(link) } : link(body);
  return { body: links.length === 0 ? body : linked, links };
}

function isGoods(value: Record<string, unknown>): value is Record<string, unknown> & Goods {
  const { artifact, artifact_salt: salt, listing_id: id } = value;
  return typeof artifact === 'string' && typeof salt === 'string' && typeof id === 'number';
}

function commitmentOf(salt: string, bytes: Uint8Array): string {
  const hash = createHash('sha256')
    .update(Buffer.from(salt.slice(2), 'hex'))
    .update(bytes);
  return `0x${hash.digest('hex')}`;
}

/** Uses only our own text. The seller's title and file name stay inside the fence. */
function makeLink(
  listingId: number,
  uri: string,
  { size, description }: Pick<GoodsLink, 'size' | 'description'>,
): GoodsLink {
  return {
    type: 'resource_link',
    uri,
    name: `artifact-of-listing-${listingId}`,
    title: `The goods of listing ${listingId}`,
    description,
    mimeType: 'application/octet-stream',
    size,
  };
}
