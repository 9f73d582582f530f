import { type EndpointEntry, identifyKeyOwner } from './answer-endpoint.ts';
import { type FailureOptions, presentFailure } from './failure.ts';
import type { Incoming } from './message.ts';
import type { Route } from './route.ts';
import type { InternalRequest, InternalRequests } from './server-options.ts';

/** Lets extra routes call the server's own routes without a socket, through the same guard, schemas and operation. */
export function createInternalRequests<Caller>(
  routes: readonly Route<Caller>[],
  entry: EndpointEntry<Caller>,
  options: FailureOptions,
): InternalRequests<Caller> {
  const byName = new Map<string, Route<Caller>>(
    routes.flatMap((route) => route.methods.map((method) => [`${method} ${route.path}`, route] as const)),
  );
  return {
    guard: entry.guard,
    identify: (incoming) => identifyKeyOwner(entry, incoming),
    refuse: (error, from) => presentFailure(options, error, from),
    ask: async (request, from, caller) => {
      const route = byName.get(request.route);
      if (route === undefined) throw new TypeError(`no route is called ${request.route}`);
      const incoming = internalIncoming(request, from);
      try {
        return await route.answer(incoming, caller);
      } catch (error) {
        return presentFailure(options, error, { ...incoming, facts: route.facts });
      }
    },
  };
}

/** Builds path and query of an internal request, as a client would send them. */
export function targetOf({ route, params = {}, query = '' }: InternalRequest): Incoming['target'] {
  const pattern = route.slice(route.indexOf(' ') + 1);
  const path = pattern.includes(':')
    ? pattern.replaceAll(/:([a-z_]+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
    : pattern;
  return { path, query, whole: query === '' ? path : `${path}?${query}` };
}

function internalIncoming(request: InternalRequest, from: Incoming): Incoming {
  const { route, params = {}, headers = {}, body } = request;
  const [method = 'GET'] = route.split(' ');
  const all = body === undefined ? { ...headers } : { ...headers, 'content-type': 'application/json' };
  return {
    method,
    target: targetOf(request),
    params,
    headers: all,
    rawHeaders: Object.entries(all).flat(),
    body: body === undefined ? new Uint8Array() : Buffer.from(JSON.stringify(body)),
    requestId: from.requestId,
    clientNetwork: from.clientNetwork,
    signal: from.signal,
    notes: from.notes,
  };
}
