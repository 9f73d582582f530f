import type { EndpointShape } from '../../contract/endpoint.ts';
import { RETIRED_TOOLS } from '../../contract/tools.ts';
import type { Incoming } from '../../platform/http/incoming.ts';
import type { Inside, InsideRequest } from '../../platform/http/mount.ts';
import { headerValues } from '../../platform/http/payment-headers.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, Merchant } from '../context.ts';
import { type ReadAnswer, readAnswer } from './read-answer.ts';
import { readPayment } from './read-payment.ts';
import { splitArguments } from './split-arguments.ts';
import { findTool, type KnownTool } from './tool-book.ts';
import { type ToolResult, toolResult } from './tool-result.ts';
import type { Visit } from './visit.ts';
import { type Report, waitForFinality } from './wait-for-finality.ts';

export interface ToolCall {
  name: string;
  arguments: Readonly<Record<string, unknown>>;
  meta: Readonly<Record<string, unknown>>;
  /** Where the caller follows along; null: it wants the first answer. */
  report: Report | null;
  /** Aborted when the caller has given up. */
  signal: AbortSignal;
}

export interface Caller {
  market: Pick<Market, 'config' | 'clock'>;
  inside: Inside<Merchant>;
  /** A read of `me` was completed for this visit. */
  noteProven(visit: Visit): Promise<void>;
}

/** One call of a tool, as one request of its route. Null: there is no such tool. What is refused is a result too. */
export async function callTool(by: Caller, visit: Visit, call: ToolCall): Promise<ToolResult | null> {
  const tool = findTool(call.name);
  const page = Object.hasOwn(RETIRED_TOOLS, call.name) ? RETIRED_TOOLS[call.name] : undefined;
  if (tool === undefined && page === undefined) return null;
  visit.incoming.notes['tool'] = call.name;
  try {
    if (visit.refusal !== null) throw visit.refusal;
    if (tool === undefined) throw retired(by.market.config.baseUrl, page ?? '/');
    mustBeProven(tool, visit);
    const answer = await askRoute(by, visit, tool, call);
    if (answer.status < 300 && tool.name === 'me') await by.noteProven(visit);
    return resultOf(by, tool, answer);
  } catch (error) {
    return toolResult(await readAnswer(by.inside.refuse(error, visit.incoming)), false);
  }
}

async function askRoute(by: Caller, visit: Visit, tool: KnownTool, call: ToolCall): Promise<ReadAnswer> {
  const { incoming, visitor } = visit;
  const ask = async (request: InsideRequest): Promise<ReadAnswer> =>
    await readAnswer(await by.inside.ask(request, incoming, visitor?.merchant));
  if (tool.asks === 'front_door') return await ask({ route: 'GET /', headers: { accept: 'application/json' } });
  const { endpoint, request } = splitArguments(tool.asks, call.arguments);
  const authorization = visitor === null ? authorizationOf(endpoint, incoming) : undefined;
  // A token of the hosted connector says nothing to a route; whom it stands for is handed over as such.
  const key = authorization === undefined ? {} : { authorization };
  const full = { ...request, headers: { ...key, ...readPayment(endpoint, call.meta) } };
  if (call.report === null || (endpoint.payment !== true && endpoint.claim !== true)) return await ask(full);
  return await waitForFinality(by.market.clock, { ask, request: full, report: call.report, signal: call.signal });
}

/** Sent twice it is none, as over HTTP: a route that looks at it is not told of one of them only. */
function authorizationOf({ auth }: EndpointShape, { rawHeaders }: Incoming): string | undefined {
  const [authorization, another] = headerValues(rawHeaders, 'authorization');
  if (another === undefined || auth === 'public' || auth === 'audit') return authorization;
  throw new Refusal('key_invalid', { detail: 'Authorization was sent more than once.' });
}

/** A hosted client reads `me` first: that shows its user, and everybody, that the connection is what it seems (W11). */
function mustBeProven({ kind, name }: KnownTool, { visitor }: Visit): void {
  if (visitor === null || visitor.proven || kind === 'public' || name === 'me') return;
  throw new Refusal('host_not_proven');
}

function retired(baseUrl: string, page: string): Refusal {
  return new Refusal('retired_flow', {
    detail: 'No tool makes, replaces, recovers or shows a key.',
    nextStep: `Open ${baseUrl}${page} in a browser; a key never passes through a tool.`,
    fields: { page: `${baseUrl}${page}` },
  });
}

/** Goods are handed over as they are or not at all: what looks like a key would end up in a model's context. */
function resultOf(by: Caller, tool: KnownTool, answer: ReadAnswer): ToolResult {
  const result = toolResult(answer, tool.holdsMerchantText);
  if (!by.inside.guard.inValue(result.structuredContent) && !by.inside.guard.inValue(result._meta)) return result;
  throw new Refusal('not_by_tool', {
    detail: 'The answer holds what looks like a key or a code, which no tool hands over.',
    fields: { fetch_at: fetchAt(by.market.config.baseUrl, tool, answer) },
  });
}

function fetchAt(baseUrl: string, { asks }: KnownTool, { text }: ReadAnswer): string {
  const { listing_id: id } = JSON.parse(text) as { listing_id?: unknown };
  if (asks !== 'front_door' && typeof id === 'number') return `${baseUrl}/api/buy/${id}`;
  return `${baseUrl}/openapi.json`;
}
