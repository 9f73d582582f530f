import { createHash } from 'node:crypto';
import { fenceText, UNTRUSTED_DATA } from '../../contract/text.ts';
import { META, type Tool } from '../../contract/tools.ts';
import type { SecretGuard } from '../../platform/secrets.ts';
import type { ReadAnswer } from './messages.ts';
import type { KnownTool } from './tool-catalog.ts';
import { answerInToolWords, howToPay, inToolWords, isProblem, ownWordsInToolWords, TOPICS } from './tool-guide.ts';

/** What a tool answers. The text is the data once more, for hosts that look at text only, fenced where merchants' words are in it. */
export interface ToolResult {
  [field: string]: unknown;
  content: [{ type: 'text'; text: string }, ...GoodsLink[]];
  structuredContent: Record<string, unknown>;
  isError?: true;
  _meta?: Record<string, unknown>;
}

/** As the front door names them. */
export type NamedTool = Pick<Tool, 'name' | 'title'>;

/** Goods are handed over as they are or not at all. */
const NEVER_ALTERED = ['artifact'];

export interface ResultContext {
  baseUrl: string;
  guard: SecretGuard;
}

/**
 * A route's answer as a tool's result: the body for a context window, and next to it what HTTP says in headers. `tool` is null where the
 * call did not come as far as its route. `listed`: the tools that this caller is shown, where the answer names them. What looks like a key
 * or a code is masked in each text but goods.
 */
export function toolResult(
  { baseUrl, guard }: ResultContext,
  answer: ReadAnswer,
  tool: KnownTool | null,
  listed: readonly NamedTool[] = [],
): ToolResult {
  const body = JSON.parse(answer.text) as Record<string, unknown>;
  const asked = answer.status === 402 ? readAsked(answer) : null;
  const isError = answer.status >= 400;
  const receipt = decoded(answer.headers['payment-response']);
  const token = body['delivery_token'];
  const holdsText = tool?.holdsMerchantText === true;
  const meta = {
    // A refusal is in our words alone, and so is what it asks to sign.
    ...(holdsText && !isError ? { [META.untrusted]: true } : {}),
    ...(receipt === null ? {} : { [META.receipt]: receipt }),
    ...(typeof token === 'string' ? { [META.deliveryToken]: token } : {}),
  };
  const said = shaped(tool?.name, answerInToolWords(body), { baseUrl, listed });
  const linked = isError ? { body: said, links: [] } : linkGoods({ baseUrl, guard }, said);
  const whole = asked === null ? linked.body : { ...withWayToPay(tool?.name, linked.body), ...asked };
  const data = masked(guard, whole);
  const plain = JSON.stringify(data);
  // What asks for money stays as x402 clients read it, and has no text of merchants.
  const text = holdsText && !isError ? fenceText(plain, sha256) : plain;
  return {
    content: [{ type: 'text', text }, ...linked.links],
    // The text has its fence; data is all that some hosts show.
    structuredContent: holdsText && !isError ? { untrusted: UNTRUSTED_DATA, ...data } : data,
    ...(isError ? { isError: true } : {}),
    ...(Object.keys(meta).length > 0 ? { _meta: masked(guard, meta) } : {}),
  };
}

function masked(guard: SecretGuard, value: Record<string, unknown>): Record<string, unknown> {
  // Most answers hold no secret, and need no copy.
  return guard.inValue(value) ? (guard.maskValue(value, NEVER_ALTERED) as Record<string, unknown>) : value;
}

function withWayToPay(tool: string | undefined, problem: Record<string, unknown>): Record<string, unknown> {
  const next = tool === undefined || problem['reason'] !== 'payment_required' ? null : howToPay(tool);
  return next === null ? problem : { ...problem, next_step: next };
}

/** What tools say in place of addresses: the front door names tools, help speaks of them, and shelves are no links. */
function shaped(
  tool: string | undefined,
  body: Record<string, unknown>,
  { baseUrl, listed }: { baseUrl: string; listed: readonly NamedTool[] },
): Record<string, unknown> {
  if (isProblem(body)) return body;
  if (tool === 'help') return { ...body, topics: TOPICS };
  if (tool === 'read_listing' && typeof body['artifact'] === 'string') {
    return { ...body, artifact: inToolWords(body['artifact']) };
  }
  if (tool === 'front_door') {
    const { endpoints: _, start, rules, ...rest } = body;
    const ours = ownWordsInToolWords({ start, rules }, baseUrl) as object;
    return { ...rest, ...ours, tools: listed.map(({ name, title }) => ({ name, title })) };
  }
  // All of it is ours. The doors of programs stay as they are: they are data, and no tool stands for them.
  if (tool === 'official_facts') return ownWordsInToolWords(body, baseUrl) as Record<string, unknown>;
  return body;
}

/** The terms of x402 version 2, without what they say of the HTTP request to those who catalog paid services. */
function readAsked({ headers }: ReadAnswer): Record<string, unknown> | null {
  const asked = decoded(headers['payment-required']);
  if (asked === null) return null;
  const { extensions: _, error, ...terms } = asked;
  return { ...terms, ...(typeof error === 'string' ? { error: inToolWords(error) } : {}) };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** base64 of JSON, as x402 puts it into headers. */
function decoded(header: string | readonly string[] | undefined): Record<string, unknown> | null {
  if (typeof header !== 'string') return null;
  return JSON.parse(Buffer.from(header, 'base64').toString('utf8')) as Record<string, unknown>;
}

/** Larger goods stay out of a context window: their bytes are fetched over HTTP. */
const MOST_BYTES = 16_384;

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

interface Goods {
  listing_id: number;
  artifact: string;
  artifact_encoding: 'utf-8' | 'base64';
  artifact_salt: string;
}

/** Neither key nor token stands in the address: the route asks for one of them, as it does for goods that are collected later. */
const HOW_TO_FETCH =
  'POST the JSON {"collect": true} to artifact_url with Accept: application/octet-stream and with what bought the goods: the merchant key in Authorization, or the delivery token in X-Delivery-Token. Free goods taken without a key: POST {} instead. Hold the bytes against artifact_commitment: SHA-256 over artifact_salt and them.';

/**
 * An answer without goods that are too large for a window, and links to where they are collected. In place of each artifact stand its
 * size, its commitment and its address. On a page of goods, those that hold a secret are linked as well, so that the others are shown.
 */
function linkGoods(
  { baseUrl, guard }: ResultContext,
  body: Record<string, unknown>,
): { body: Record<string, unknown>; links: GoodsLink[] } {
  const links: GoodsLink[] = [];
  const link = (one: Record<string, unknown>): Record<string, unknown> => {
    if (!isGoods(one)) return one;
    const bytes = Buffer.from(one.artifact, one.artifact_encoding === 'base64' ? 'base64' : 'utf8');
    if (bytes.length <= MOST_BYTES && (one === body || !guard.inText(one.artifact))) return one;
    const uri = `${baseUrl}/api/buy/${one.listing_id}`;
    links.push(linkTo(one.listing_id, uri, bytes.length));
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

/** Names of ours alone: what its seller calls the goods stays within the marks. */
function linkTo(listingId: number, uri: string, size: number): GoodsLink {
  return {
    type: 'resource_link',
    uri,
    name: `artifact-of-listing-${listingId}`,
    title: `The goods of listing ${listingId}`,
    description: HOW_TO_FETCH,
    mimeType: 'application/octet-stream',
    size,
  };
}
