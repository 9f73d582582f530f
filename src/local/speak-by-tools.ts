import type { EndpointShape } from '../contract/endpoint.ts';
import { endpoints } from '../contract/index.ts';
import { META, TOOLS, type ToolForm } from '../contract/tools.ts';
import type { Client, LooseGiven } from '../sdk/client.ts';
import { type Environment, systemEnvironment } from '../sdk/environment.ts';
import { type LooseAnswer, readAnswer } from '../sdk/read-answer.ts';
import { createServerClock } from '../sdk/server-clock.ts';
import type { ToolAnswer, Tools } from './connect-tools.ts';

const MAX_ANSWER_BYTES = 16_777_216;

/** Creates an SDK client that makes every call by a tool, so that an agent checks, signs once and waits with the same code as over HTTP. */
export function createToolClient(
  tools: Tools,
  { baseUrl, key, environment = {} }: { baseUrl: string; key?: string; environment?: Partial<Environment> },
): Client {
  const full = { ...systemEnvironment, ...environment };
  const methods = Object.fromEntries(
    Object.entries(endpoints).map(([name, endpoint]) => [
      name,
      (request: LooseGiven = {}) => callByTool({ tools, baseUrl, key, environment: full }, name, endpoint, request),
    ]),
  );
  // Has the same methods as the client over HTTP.
  return { ...methods, baseUrl, environment: full, clock: createServerClock(full) } as unknown as Client;
}

interface ToolConnection {
  tools: Tools;
  baseUrl: string;
  /** The connection's key; undefined for none. */
  key: string | undefined;
  environment: Environment;
}

async function callByTool(
  connection: ToolConnection,
  name: string,
  endpoint: EndpointShape,
  request: LooseGiven,
): Promise<LooseAnswer> {
  const tool = findTool(name);
  if (tool === null) throw new TypeError(`no tool calls ${name}`);
  const answer = await connection.tools.call({
    name: tool.tool,
    arguments: argumentsOf(tool.form, request),
    meta: metaOf(request),
    follow: endpoint.payment === true,
    signal: request.signal,
  });
  const isLinked = answer.body['artifact_url'] !== undefined;
  const response = isLinked ? await fetchGoods(connection, request, answer) : responseOf(endpoint, answer);
  return readAnswer(endpoint, response, MAX_ANSWER_BYTES);
}

/** Fetches goods too large for a tool's result over HTTP, with the buyer's key or token, and only from this market. */
async function fetchGoods(
  { baseUrl, key, environment }: ToolConnection,
  request: LooseGiven,
  { body }: ToolAnswer,
): Promise<Response> {
  const token = request.deliveryToken ?? body['delivery_token'];
  const owner: Record<string, string> = {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(key === undefined && typeof token === 'string' ? { 'x-delivery-token': token } : {}),
  };
  return await environment.fetch(`${baseUrl}/api/buy/${Number(body['listing_id'])}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...owner },
    body: JSON.stringify(Object.keys(owner).length === 0 ? {} : { collect: true }),
  });
}

function findTool(endpoint: string): { tool: string; form: ToolForm } | null {
  for (const { name, asks } of TOOLS) {
    const form = asks === 'front_door' ? undefined : asks.find((one) => one.endpoint === endpoint);
    if (form !== undefined) return { tool: name, form };
  }
  return null;
}

function argumentsOf(form: ToolForm, { params = {}, query = {}, body = {} }: LooseGiven): Record<string, unknown> {
  const { id, ...others } = params;
  return { ...(id === undefined ? {} : { [form.id ?? 'id']: id }), ...others, ...query, ...(body as object) };
}

/** Returns `_meta` with the decoded proof and the delivery token. */
function metaOf({ payment, deliveryToken }: LooseGiven): Record<string, unknown> {
  return {
    ...(payment === undefined
      ? {}
      : { [META.payment]: JSON.parse(Buffer.from(payment.value, 'base64').toString('utf8')) as unknown }),
    ...(deliveryToken === undefined ? {} : { [META.deliveryToken]: deliveryToken }),
  };
}

/** Converts a tool's result to the HTTP response that its endpoint would give. */
function responseOf(endpoint: EndpointShape, { body, refused }: ToolAnswer): Response {
  const text = JSON.stringify(body);
  if (!refused) {
    return new Response(text, { status: successOf(endpoint, body), headers: { 'content-type': 'application/json' } });
  }
  const asksForMoney = body['status'] === 402 && body['x402Version'] === 2;
  return new Response(text, {
    status: Number(body['status']),
    headers: {
      'content-type': 'application/problem+json',
      ...(asksForMoney ? { 'payment-required': Buffer.from(text).toString('base64') } : {}),
    },
  });
}

/** Returns the status whose schema the body fits, because a tool's result has no status. */
function successOf({ answers }: EndpointShape, body: unknown): number {
  const fitting = Object.entries(answers).find(([, schema]) => schema.safeParse(body).success);
  return Number(fitting?.[0] ?? 200);
}
