import type { EndpointShape } from '../../contract/endpoint.ts';
import { BODY_LIMIT_BYTES } from '../../contract/vocabulary.ts';
import { isPairingCode, isRecoveryCode } from '../secret-format.ts';
import type { SecretGuard } from '../secret-guard.ts';
import { type AnyOperation, answerEndpoint, type Door } from './answer-endpoint.ts';
import { answerPage, type PageDoor } from './answer-page.ts';
import { expectFailure } from './failure.ts';
import type { Incoming, Outgoing } from './incoming.ts';
import type { Inside, Mount } from './mount.ts';
import { FORM_LIMIT_BYTES } from './read-body.ts';
import { factsOfEndpoint, factsOfPage, type RouteFacts } from './route-table.ts';
import type { Endpoints, Face, ServerOptions } from './server-options.ts';

export interface Route<Caller = unknown> {
  path: string;
  methods: string[];
  bodyLimit: number;
  facts: RouteFacts;
  /** `caller`: already known to code that asks from inside; then Authorization is not looked at. */
  answer(incoming: Incoming, caller?: Caller): Promise<Outgoing>;
}

function methodsOf(method: string): string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}

/** Every endpoint and page as one kind of thing. */
export function routesOf<E extends Endpoints, Context, Caller>(
  options: ServerOptions<E, Context, Caller>,
  guard: SecretGuard,
): Route<Caller>[] {
  const door: Door<Caller> = {
    guard,
    isCode: (bearer) =>
      options.secretPrefixes.some((prefix) => isRecoveryCode(bearer, prefix) || isPairingCode(bearer, prefix)),
    authenticate: (bearer) => options.authenticate(bearer),
    isMaintainer: (caller) => options.isMaintainer(caller),
    callerId: (caller) => options.callerId(caller),
  };
  const endpoints = Object.entries<EndpointShape>(options.endpoints).map(([name, endpoint]) => {
    // The mapping type of the options has checked this pair; a table of many types can only be walked without them.
    const typed = options.operations[name] as unknown as (
      context: Context,
      ...rest: Parameters<AnyOperation>
    ) => ReturnType<AnyOperation>;
    const operation: AnyOperation = (call) => typed(options.context, call);
    const preSchema = options.preSchema?.[name];
    return {
      path: endpoint.path,
      methods: methodsOf(endpoint.method),
      bodyLimit: endpoint.body_limit ?? BODY_LIMIT_BYTES,
      facts: factsOfEndpoint(endpoint),
      answer: (incoming: Incoming, caller?: Caller) =>
        answerEndpoint(door, { endpoint, operation, preSchema }, incoming, caller),
    };
  });
  const by: PageDoor = {
    guard,
    expect: (error, incoming) => expectFailure(options, error, incoming),
  };
  const pages = (options.pages ?? []).map((page) => ({
    path: page.path,
    methods: methodsOf(page.method),
    bodyLimit: page.method === 'POST' ? FORM_LIMIT_BYTES : BODY_LIMIT_BYTES,
    facts: factsOfPage(page),
    answer: (incoming: Incoming) => answerPage(page, incoming, by),
  }));
  return [...endpoints, ...pages];
}

/** A mount as a route. */
export function routeOfMount<Caller>(mount: Mount): Route<Caller> {
  return {
    path: mount.path,
    methods: mount.withHead ? methodsOf(mount.method) : [mount.method],
    bodyLimit: mount.bodyLimit ?? BODY_LIMIT_BYTES,
    facts: factsOfPage(mount),
    answer: (incoming: Incoming) => mount.answer(incoming),
  };
}

/**
 * The routes as they are mounted, with the faces that some endpoints have for people. Code that asks from inside the server gets what
 * the endpoint itself answers.
 */
export function showFaces<E extends Endpoints, Context, Caller>(
  routes: readonly Route<Caller>[],
  { endpoints, faces }: Pick<ServerOptions<E, Context, Caller>, 'endpoints' | 'faces'>,
  inside: Inside<Caller>,
): readonly Route<Caller>[] {
  const byRoute = new Map<string, Face | undefined>(
    Object.entries<Face | undefined>(faces?.(inside) ?? {}).map(([name, face]) => {
      const endpoint = endpoints[name];
      if (endpoint?.method !== 'GET') throw new TypeError(`only what is read has a face, and ${name} is not`);
      return [`GET ${endpoint.path}`, face] as const;
    }),
  );
  return routes.map((route) => {
    const face = byRoute.get(`${route.methods[0]} ${route.path}`);
    return face === undefined ? route : { ...route, answer: (incoming) => answerWith(route, face, incoming) };
  });
}

async function answerWith<Caller>(route: Route<Caller>, face: Face, incoming: Incoming): Promise<Outgoing> {
  const { headers, ...rest } = (await face(incoming)) ?? (await route.answer(incoming));
  const varies = headers['vary'];
  return { ...rest, headers: { ...headers, vary: varies === undefined ? 'accept' : `accept, ${String(varies)}` } };
}
