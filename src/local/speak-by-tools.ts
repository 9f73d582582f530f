import type { EndpointShape } from '../contract/endpoint.ts';
import { endpoints } from '../contract/index.ts';
import { META, TOOLS, type ToolForm } from '../contract/tools.ts';
import type { Client, LooseGiven } from '../sdk/client.ts';
import { type Environment, systemEnvironment } from '../sdk/environment.ts';
import { type LooseAnswer, readAnswer } from '../sdk/read-answer.ts';
import type { ToolAnswer, Tools } from './connect-tools.ts';

const MAX_ANSWER_BYTES = 16_777_216;

/**
 * A client of the SDK whose every call is a call of a tool. So an agent checks what it is asked to sign, signs once, and waits with the
 * same proof by the very code that does it over HTTP.
 */
export function speakByTools(
  tools: Tools,
  { baseUrl, environment = {} }: { baseUrl: string; environment?: Partial<Environment> },
): Client {
  const methods = Object.fromEntries(
    Object.entries(endpoints).map(([name, endpoint]) => [
      name,
      (given: LooseGiven = {}) => callByTool(tools, name, endpoint, given),
    ]),
  );
  // The same table as that of the client over HTTP.
  return { ...methods, baseUrl, environment: { ...systemEnvironment, ...environment } } as unknown as Client;
}

async function callByTool(
  tools: Tools,
  name: string,
  endpoint: EndpointShape,
  given: LooseGiven,
): Promise<LooseAnswer> {
  const found = findTool(name);
  if (found === null) throw new TypeError(`no tool stands for ${name}`);
  const answer = await tools.call({
    name: found.tool,
    arguments: argumentsOf(found.form, given),
    meta: metaOf(given),
    follow: endpoint.payment === true,
    signal: given.signal,
  });
  return readAnswer(endpoint, responseOf(endpoint, answer), MAX_ANSWER_BYTES);
}

function findTool(endpoint: string): { tool: string; form: ToolForm } | null {
  for (const { name, asks } of TOOLS) {
    const form = asks === 'front_door' ? undefined : asks.find((one) => one.endpoint === endpoint);
    if (form !== undefined) return { tool: name, form };
  }
  return null;
}

/** Path, query and body side by side. */
function argumentsOf(form: ToolForm, { params = {}, query = {}, body = {} }: LooseGiven): Record<string, unknown> {
  const { id, ...others } = params;
  return { ...(id === undefined ? {} : { [form.id ?? 'id']: id }), ...others, ...query, ...(body as object) };
}

/** The proof as the object that its header wraps up, and the token. */
function metaOf({ payment, deliveryToken }: LooseGiven): Record<string, unknown> {
  return {
    ...(payment === undefined
      ? {}
      : { [META.payment]: JSON.parse(Buffer.from(payment.value, 'base64').toString('utf8')) as unknown }),
    ...(deliveryToken === undefined ? {} : { [META.deliveryToken]: deliveryToken }),
  };
}

/** A tool's result as the answer of the route that it stands for. */
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

/** A result names no status: it is the one whose schema it fits. */
function successOf({ answers }: EndpointShape, body: unknown): number {
  const fitting = Object.entries(answers).find(([, schema]) => schema.safeParse(body).success);
  return Number(fitting?.[0] ?? 200);
}
