import type { EndpointShape } from '../../contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../contract/index.ts';
import type { ToolForm } from '../../contract/tools.ts';
import type { InsideRequest } from '../../platform/http/server-options.ts';
import { Refusal } from '../../platform/refusal.ts';

export interface SplitArguments {
  endpoint: EndpointShape;
  request: Pick<InsideRequest, 'route' | 'params' | 'query' | 'body'>;
}

type Arguments = Readonly<Record<string, unknown>>;

/** A tool's arguments as the request that they stand for. What they may be is the route's to say; only what has no place in a request is refused here. */
export function splitArguments(asks: readonly ToolForm[], given: Arguments): SplitArguments {
  const form = formOf(asks, given);
  const endpoint: EndpointShape = endpoints[form.endpoint];
  const rest = new Map(Object.entries(given));
  const params = take(namesOf(endpoint.params), (name) => {
    const called = name === 'id' ? (form.id ?? name) : name;
    const value = rest.get(called);
    rest.delete(called);
    if (value === undefined) throw refuse(called, 'is required');
    return textOf(called, value);
  });
  const known = namesOf(endpoint.query);
  const query: string[] = [];
  const body: Record<string, unknown> = {};
  for (const [name, value] of rest) {
    // Without a body whatever is left is refused as a query would be.
    if (known.includes(name) || endpoint.body === undefined)
      query.push(`${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(textOf(name, value))}`);
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
  throw refuse('', `give exactly one of ${ids}`);
}

const names = new WeakMap<object, string[]>();

function namesOf(schema: EndpointShape['params']): string[] {
  if (schema === undefined || !('shape' in schema)) return [];
  const known = names.get(schema) ?? Object.keys(schema.shape as object);
  names.set(schema, known);
  return known;
}

function take(called: readonly string[], read: (name: string) => string): Record<string, string> {
  return Object.fromEntries(called.map((name) => [name, read(name)]));
}

/** Addresses hold text: a number or a truth value has one spelling there. */
function textOf(name: string, value: unknown): string {
  // Half of a pair has no place in an address.
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw refuse(name, 'must be text, a number, true or false');
}

function refuse(path: string, message: string): Refusal {
  return new Refusal('invalid_fields', { errors: [{ path, message }] });
}
