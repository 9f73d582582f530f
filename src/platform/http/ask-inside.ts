import type { SecretGuard } from '../secret-guard.ts';
import type { Incoming, Outgoing } from './incoming.ts';
import type { Inside, InsideRequest } from './mount.ts';
import { PAYMENT_HEADER_NAMES } from './payment-headers.ts';
import type { Shortcut } from './prepared.ts';
import { type FailureOptions, presentFailure } from './present-failure.ts';
import type { Route } from './route.ts';

/** How mounts ask the routes beside them: the same way through guard, schemas and operation, without a socket. */
export function createInside<Caller>(
  routes: readonly Route<Caller>[],
  guard: SecretGuard,
  options: FailureOptions & { shortcut?: Shortcut },
): Inside<Caller> {
  const byName = new Map<string, Route<Caller>>(
    routes.flatMap((route) => route.methods.map((method) => [`${method} ${route.path}`, route] as const)),
  );
  const refuse = (error: unknown, from: Incoming, route?: Route<Caller>): Outgoing => {
    const proofSent = PAYMENT_HEADER_NAMES.some((name) => from.headers[name] !== undefined);
    const { requestId, notes } = from;
    return presentFailure(options, error, { requestId, notes, facts: route?.facts, proofSent });
  };
  return {
    guard,
    refuse: (error, from) => refuse(error, from),
    glance: (target) => {
      const read = { target, accept: 'application/json', ifNoneMatch: undefined, acceptsGzip: false };
      const answer = options.shortcut?.(read) ?? null;
      return answer?.status === 200 ? answer : null;
    },
    ask: async (request, from, caller) => {
      const route = byName.get(request.route);
      if (route === undefined) throw new TypeError(`no route is called ${request.route}`);
      const incoming = insideIncoming(request, from);
      try {
        return await route.answer(incoming, caller);
      } catch (error) {
        return refuse(error, incoming, route);
      }
    },
  };
}

function insideIncoming(
  { route, params = {}, query = '', headers = {}, body }: InsideRequest,
  from: Incoming,
): Incoming {
  const [method = 'GET', pattern = '/'] = route.split(' ');
  const path = pattern.replaceAll(/:([a-z_]+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const all = body === undefined ? { ...headers } : { ...headers, 'content-type': 'application/json' };
  return {
    method,
    target: { path, query, whole: query === '' ? path : `${path}?${query}` },
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
