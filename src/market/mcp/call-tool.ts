import { type EndpointShape, takesSlip } from '../../contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../contract/index.ts';
import { META, RETIRED_TOOLS, type ToolForm } from '../../contract/tools.ts';
import { headerValues } from '../../platform/http/caller-headers.ts';
import type { Incoming } from '../../platform/http/message.ts';
import type { InternalRequest, InternalRequests } from '../../platform/http/server-options.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, Merchant } from '../context.ts';
import { givenArguments } from './read-arguments.ts';
import { type ReadAnswer, readAnswer } from './messages.ts';
import type { Visit } from './mount-mcp.ts';
import { findTool, type KnownTool, type ListedFor, listingArgument, listTools } from './tool-catalog.ts';
import { type NamedTool, type ResultContext, type ToolResult, toolResult } from './tool-result.ts';
import { type Report, waitForFinality } from './wait-for-finality.ts';

interface ToolCall {
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
  inside: InternalRequests<Merchant>;
  /** A read of `me` was completed for this visit. */
  noteProven(visit: Visit): Promise<void>;
  /** Whether the visit is the maintainer's; false where that cannot be known now. */
  isMaintainer(visit: Visit): Promise<boolean>;
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
    return resultOf(by, tool, answer, tool.asks === 'front_door' ? listTools(await listedFor(by, visit)) : []);
  } catch (error) {
    return toolResult(contextOf(by), await readAnswer(by.inside.refuse(error, visit.incoming)), null);
  }
}

async function askRoute(by: Caller, visit: Visit, tool: KnownTool, call: ToolCall): Promise<ReadAnswer> {
  const { incoming, visitor } = visit;
  const ask = async (request: InternalRequest): Promise<ReadAnswer> =>
    await readAnswer(await by.inside.ask(request, incoming, visitor?.merchant));
  if (tool.asks === 'front_door') return await ask({ route: 'GET /', headers: { accept: 'application/json' } });
  const { endpoint, request } = splitArguments(tool.asks, withDefaults(tool, givenArguments(tool, call.arguments)));
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

/** For whom tools are listed. */
export async function listedFor(by: Caller, visit: Visit): Promise<ListedFor> {
  return { isMaintainer: await by.isMaintainer(visit), hasCity: by.market.config.cityUrl !== null };
}

function contextOf({ market, inside }: Caller): ResultContext {
  return { baseUrl: market.config.baseUrl, guard: inside.guard };
}

/** Goods are handed over as they are or not at all: what looks like a key would end up in a model's context. Other texts were masked. */
function resultOf(by: Caller, tool: KnownTool, answer: ReadAnswer, listed: readonly NamedTool[]): ToolResult {
  const result = toolResult(contextOf(by), answer, tool, listed);
  if (!by.inside.guard.inValue(result.structuredContent)) return result;
  throw new Refusal('not_by_tool', {
    detail: 'The goods hold what looks like a key or a code, which no tool hands over.',
    fields: { fetch_at: fetchAt(by.market.config.baseUrl, tool, answer) },
  });
}

function fetchAt(baseUrl: string, { asks }: KnownTool, { text }: ReadAnswer): string {
  const { listing_id: id } = JSON.parse(text) as { listing_id?: unknown };
  if (asks !== 'front_door' && typeof id === 'number') return `${baseUrl}/api/buy/${id}`;
  return `${baseUrl}/openapi.json`;
}

type Meta = Readonly<Record<string, unknown>>;

/** Proof, delivery token and recovery slip as the headers that the route reads; they travel next to the arguments, where no model writes. */
function readPayment(endpoint: EndpointShape, meta: Meta): Record<string, string> {
  const slip = takesSlip(endpoint) ? textOf(meta, META.recoverySlip, 'x-recovery-slip') : {};
  if (endpoint.payment !== true) return slip;
  return { ...proofOf(meta[META.payment]), ...textOf(meta, META.deliveryToken, 'x-delivery-token'), ...slip };
}

function proofOf(proof: unknown): Record<string, string> {
  if (proof === undefined) return {};
  const version = typeof proof === 'object' && proof !== null && 'x402Version' in proof ? proof.x402Version : null;
  if (version !== 1 && version !== 2) {
    throw new Refusal('malformed_proof', {
      detail: `_meta["${META.payment}"] is no x402 payload of version 1 or 2.`,
      nextStep: `Put the x402 payload itself, a JSON object, into _meta["${META.payment}"].`,
    });
  }
  const text = Buffer.from(JSON.stringify(proof)).toString('base64');
  return version === 1 ? { 'x-payment': text } : { 'payment-signature': text };
}

function textOf(meta: Meta, name: string, header: string): Record<string, string> {
  const text = meta[name];
  if (text === undefined) return {};
  if (typeof text === 'string') return { [header]: text };
  throw new Refusal('invalid_fields', { errors: [{ path: `_meta["${name}"]`, message: 'must be text' }] });
}

interface SplitArguments {
  endpoint: EndpointShape;
  request: Pick<InternalRequest, 'route' | 'params' | 'query' | 'body'>;
}

type Arguments = Readonly<Record<string, unknown>>;

/** Pages that fit into a context window, where nothing else is asked for, and the listing by the name that its route has for it. */
function withDefaults({ asks, defaults = {} }: KnownTool, given: Arguments): Arguments {
  const called = asks === 'front_door' ? null : listingArgument(asks);
  const { [OTHER_NAME[called ?? 'id']]: other, ...rest } = given;
  if (called === null || other === undefined) return { ...defaults, ...given };
  const named = given[called];
  if (named !== undefined && String(named) !== String(other)) {
    throw refuseArgument(OTHER_NAME[called], `is another listing than ${called}`);
  }
  return { ...defaults, ...rest, [called]: named ?? other };
}

const OTHER_NAME = { id: 'listing_id', listing_id: 'id' } as const;

/** A tool's arguments as the request that they stand for. What they may be is the route's to say; only what has no place in a request is refused here. */
function splitArguments(asks: readonly ToolForm[], given: Arguments): SplitArguments {
  const form = formOf(asks, given);
  const endpoint: EndpointShape = endpoints[form.endpoint];
  const rest = new Map(Object.entries(given));
  const params = takeArguments(namesOf(endpoint.params), (name) => {
    const called = name === 'id' ? (form.id ?? name) : name;
    const value = rest.get(called);
    rest.delete(called);
    if (value === undefined) throw refuseArgument(called, 'is required');
    return textOfArgument(called, value);
  });
  const known = namesOf(endpoint.query);
  const query: string[] = [];
  const body: Record<string, unknown> = {};
  for (const [name, value] of rest) {
    // Without a body whatever is left is refused as a query would be.
    if (known.includes(name) || endpoint.body === undefined)
      query.push(`${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(textOfArgument(name, value))}`);
    else body[name] = value;
  }
  return {
    endpoint,
    request: {
      route: `${endpoint.method} ${endpoint.path}`,
      params,
      query: query.join('&'),
      ...(endpoint.body === undefined ? {} : { body }),
    },
  };
}

/** Of several forms the one whose id was given. */
function formOf(asks: readonly ToolForm[], given: Arguments): { endpoint: EndpointName; id?: string } {
  const [only] = asks;
  if (asks.length === 1 && only !== undefined) return only;
  const [form, another] = asks.filter(({ id = '' }) => given[id] !== undefined);
  if (form !== undefined && another === undefined) return form;
  const ids = asks.map(({ id }) => id).join(' and ');
  throw refuseArgument('', `give exactly one of ${ids}`);
}

const names = new WeakMap<object, string[]>();

function namesOf(schema: EndpointShape['params']): string[] {
  if (schema === undefined || !('shape' in schema)) return [];
  const known = names.get(schema) ?? Object.keys(schema.shape as object);
  names.set(schema, known);
  return known;
}

function takeArguments(called: readonly string[], read: (name: string) => string): Record<string, string> {
  return Object.fromEntries(called.map((name) => [name, read(name)]));
}

/** Addresses hold text: a number or a truth value has one spelling there. */
function textOfArgument(name: string, value: unknown): string {
  // Half of a pair has no place in an address.
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw refuseArgument(name, 'must be text, a number, true or false');
}

function refuseArgument(path: string, message: string): Refusal {
  return new Refusal('invalid_fields', { errors: [{ path, message }] });
}
