import { acceptsRecoverySlip, type EndpointShape } from '../../contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../contract/index.ts';
import { META, RETIRED_TOOLS, type ToolForm } from '../../contract/tools.ts';
import { headerValues } from '../../platform/http/caller-headers.ts';
import type { Incoming } from '../../platform/http/message.ts';
import type { InternalRequest, InternalRequests } from '../../platform/http/server-options.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, Merchant } from '../context.ts';
import { type ReadAnswer, readAnswer } from './messages.ts';
import type { ToolRequest } from './mount-mcp.ts';
import { readArguments } from './read-arguments.ts';
import { findTool, type KnownTool, listingArgument, listTools, type ToolAudience } from './tool-catalog.ts';
import { type NamedTool, type ResultContext, type ToolResult, toolResult } from './tool-result.ts';
import { type Report, waitForFinality } from './wait-for-finality.ts';

interface ToolCall {
  name: string;
  arguments: Readonly<Record<string, unknown>>;
  meta: Readonly<Record<string, unknown>>;
  /** Sends progress to the caller. Null if the caller wants the first answer at once. */
  report: Report | null;
  /** Aborts if the caller gives up. */
  signal: AbortSignal;
}

export interface ToolContext {
  market: Pick<Market, 'config' | 'clock'>;
  inside: InternalRequests<Merchant>;
  /** Records that this connection completed a read of `me`. */
  markProven(toolRequest: ToolRequest): Promise<void>;
  /** Returns whether the maintainer sent the request. False if the database is not available. */
  isMaintainer(toolRequest: ToolRequest): Promise<boolean>;
}

/**
 * Runs one tool call as an internal request to its route, repeated while a payment is undecided if the caller wants progress. Returns null
 * for an unknown tool. A refusal is also a result.
 */
export async function callTool(
  tools: ToolContext,
  toolRequest: ToolRequest,
  call: ToolCall,
): Promise<ToolResult | null> {
  const tool = findTool(call.name);
  const page = Object.hasOwn(RETIRED_TOOLS, call.name) ? RETIRED_TOOLS[call.name] : undefined;
  if (tool === undefined && page === undefined) return null;
  toolRequest.incoming.notes['tool'] = call.name;
  try {
    if (toolRequest.refusal !== null) throw toolRequest.refusal;
    if (tool === undefined) throw refuseRetired(tools.market.config.baseUrl, page ?? '/');
    mustBeProven(tool, toolRequest);
    const answer = await askRoute(tools, toolRequest, tool, call);
    if (answer.status < 300 && tool.name === 'me') await tools.markProven(toolRequest);
    const listed = tool.asks === 'front_door' ? listTools(await readToolAudience(tools, toolRequest)) : [];
    return resultOf(tools, tool, answer, listed);
  } catch (error) {
    return toolResult(contextOf(tools), await readAnswer(tools.inside.refuse(error, toolRequest.incoming)), null);
  }
}

async function askRoute(
  tools: ToolContext,
  toolRequest: ToolRequest,
  tool: KnownTool,
  call: ToolCall,
): Promise<ReadAnswer> {
  const { incoming, hosted } = toolRequest;
  const ask = async (request: InternalRequest): Promise<ReadAnswer> =>
    await readAnswer(await tools.inside.ask(request, incoming, hosted?.merchant));
  if (tool.asks === 'front_door') return await ask({ route: 'GET /', headers: { accept: 'application/json' } });
  const { endpoint, request } = splitArguments(tool.asks, withDefaults(tool, readArguments(tool, call.arguments)));
  const authorization = hosted === null ? authorizationOf(endpoint, incoming) : undefined;
  // Pass the merchant on instead of the hosted connector's token, which routes do not read.
  const key = authorization === undefined ? {} : { authorization };
  const full = { ...request, headers: { ...key, ...readPayment(endpoint, call.meta) } };
  if (call.report === null || (endpoint.payment !== true && endpoint.claim !== true)) return await ask(full);
  return await waitForFinality(tools.market.clock, { ask, request: full, report: call.report, signal: call.signal });
}

/** Refuses two Authorization headers if the endpoint checks keys, because either choice could act for the wrong merchant. */
function authorizationOf({ auth }: EndpointShape, { rawHeaders }: Incoming): string | undefined {
  const [authorization, another] = headerValues(rawHeaders, 'authorization');
  if (another === undefined || auth === 'public' || auth === 'audit') return authorization;
  throw new Refusal('key_invalid', { detail: 'Authorization was sent more than once.' });
}

/**
 * Refuses every tool except `me` and public ones until the hosted client has read `me` once, which shows its user that the connection acts
 * for the right store.
 */
function mustBeProven({ kind, name }: KnownTool, { hosted }: ToolRequest): void {
  if (hosted === null || hosted.proven || kind === 'public' || name === 'me') return;
  throw new Refusal('host_not_proven');
}

function refuseRetired(baseUrl: string, page: string): Refusal {
  return new Refusal('retired_flow', {
    detail: 'No tool makes, replaces, recovers or shows a key.',
    nextStep: `Open ${baseUrl}${page} in a browser; a key never passes through a tool.`,
    fields: { page: `${baseUrl}${page}` },
  });
}

export async function readToolAudience(tools: ToolContext, toolRequest: ToolRequest): Promise<ToolAudience> {
  return { isMaintainer: await tools.isMaintainer(toolRequest), hasCity: tools.market.config.cityUrl !== null };
}

function contextOf({ market, inside }: ToolContext): ResultContext {
  return { baseUrl: market.config.baseUrl, guard: inside.guard };
}

/** Refuses goods that contain something like a key, which must not reach a model. Goods are never altered, while other texts are masked. */
function resultOf(tools: ToolContext, tool: KnownTool, answer: ReadAnswer, listed: readonly NamedTool[]): ToolResult {
  const result = toolResult(contextOf(tools), answer, tool, listed);
  if (!tools.inside.guard.inValue(result.structuredContent)) return result;
  throw new Refusal('not_by_tool', {
    detail: 'The goods hold what looks like a key or a code, which no tool hands over.',
    fields: { fetch_at: fetchAt(tools.market.config.baseUrl, tool, answer) },
  });
}

function fetchAt(baseUrl: string, { asks }: KnownTool, { text }: ReadAnswer): string {
  const { listing_id: id } = JSON.parse(text) as { listing_id?: unknown };
  if (asks !== 'front_door' && typeof id === 'number') return `${baseUrl}/api/buy/${id}`;
  return `${baseUrl}/openapi.json`;
}

type Meta = Readonly<Record<string, unknown>>;

/** Turns proof, delivery token and recovery slip into headers that the route reads. They travel in `_meta`, which models do not write. */
function readPayment(endpoint: EndpointShape, meta: Meta): Record<string, string> {
  const slip = acceptsRecoverySlip(endpoint) ? textOf(meta, META.recoverySlip, 'x-recovery-slip') : {};
  if (endpoint.payment !== true) return slip;
  return { ...proofOf(meta[META.payment]), ...textOf(meta, META.deliveryToken, 'x-delivery-token'), ...slip };
}

function proofOf(proof: unknown): Record<string, string> {
  if (proof === undefined) return {};
  const version = typeof proof === 'object' && proof !== null && 'x402Version' in proof ? proof.x402Version : null;
  if (version !== 1 && version !== 2) {
    throw new Refusal('malformed_proof', {
      detail: `_meta["${META.payment}"] is not an x402 payload of version 1 or 2.`,
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

/** Adds the tool's defaults (pages that fit into a context window), and passes the listing's id under the name that the route uses. */
function withDefaults({ asks, defaults = {} }: KnownTool, args: Arguments): Arguments {
  const argumentName = asks === 'front_door' ? null : listingArgument(asks);
  const { [OTHER_NAME[argumentName ?? 'id']]: other, ...rest } = args;
  if (argumentName === null || other === undefined) return { ...defaults, ...args };
  const listingId = args[argumentName];
  if (listingId !== undefined && String(listingId) !== String(other)) {
    throw refuseArgument(OTHER_NAME[argumentName], `is another listing than ${argumentName}`);
  }
  return { ...defaults, ...rest, [argumentName]: listingId ?? other };
}

const OTHER_NAME = { id: 'listing_id', listing_id: 'id' } as const;

/** Splits the arguments into path, query and body. The route validates them, so this refuses only what cannot go into a request. */
function splitArguments(asks: readonly ToolForm[], args: Arguments): SplitArguments {
  const form = formOf(asks, args);
  const endpoint: EndpointShape = endpoints[form.endpoint];
  const rest = new Map(Object.entries(args));
  const params = Object.fromEntries(
    namesOf(endpoint.params).map((name) => {
      const argumentName = name === 'id' ? (form.id ?? name) : name;
      const value = rest.get(argumentName);
      rest.delete(argumentName);
      if (value === undefined) throw refuseArgument(argumentName, 'is required');
      return [name, textOfArgument(argumentName, value)];
    }),
  );
  const inQuery = namesOf(endpoint.query);
  const query: string[] = [];
  const body: Record<string, unknown> = {};
  for (const [name, value] of rest) {
    // Without a body, unknown arguments go into the query, where the route refuses them.
    if (inQuery.includes(name) || endpoint.body === undefined)
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

/** Picks the form whose id is among the arguments. */
function formOf(asks: readonly ToolForm[], args: Arguments): { endpoint: EndpointName; id?: string } {
  const [only] = asks;
  if (asks.length === 1 && only !== undefined) return only;
  const [form, another] = asks.filter(({ id = '' }) => args[id] !== undefined);
  if (form !== undefined && another === undefined) return form;
  const ids = asks.map(({ id }) => id).join(' and ');
  throw refuseArgument('', `give exactly one of ${ids}`);
}

const names = new WeakMap<object, string[]>();

function namesOf(schema: EndpointShape['params']): string[] {
  if (schema === undefined || !('shape' in schema)) return [];
  const fields = names.get(schema) ?? Object.keys(schema.shape as object);
  names.set(schema, fields);
  return fields;
}

function textOfArgument(name: string, value: unknown): string {
  // An unpaired surrogate cannot be encoded in a URL.
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw refuseArgument(name, 'must be text, a number, true or false');
}

function refuseArgument(path: string, message: string): Refusal {
  return new Refusal('invalid_fields', { errors: [{ path, message }] });
}
