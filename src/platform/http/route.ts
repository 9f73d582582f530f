import type { EndpointShape } from '../../contract/endpoint.ts';
import { BODY_LIMIT_BYTES } from '../../contract/vocabulary.ts';
import type { Refusal } from '../refusal.ts';
import { isPairingCode, isRecoveryCode, type SecretGuard } from '../secrets.ts';
import { type AnyOperation, answerEndpoint, type EndpointEntry } from './answer-endpoint.ts';
import { cacheAnswer } from './cache-answer.ts';
import { expectFailure } from './failure.ts';
import { guardBody } from './guard-request.ts';
import { FORM_LIMIT_BYTES, type Incoming, type Outgoing, readCookies, readForm, readQuery } from './message.ts';
import { factsOfEndpoint, factsOfPage, type RouteFacts } from './route-table.ts';
import type {
  AnyPageRoute,
  Endpoints,
  ExtraRoute,
  FormPage,
  InternalRequests,
  PageAnswer,
  PageCall,
  RepresentationHandler,
  ServerOptions,
} from './server-options.ts';

export interface Route<Caller = unknown> {
  path: string;
  methods: string[];
  bodyLimit: number;
  /** Reads the body as it arrives. Omitted: the server reads it first. */
  streamsBody?: boolean;
  facts: RouteFacts;
  /** If internal code passes the `caller`, Authorization is not read. */
  answer(incoming: Incoming, caller?: Caller): Promise<Outgoing>;
}

function methodsOf(method: string): string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}

/** Returns how the server's callers are identified and their input guarded. */
export function entryOf<E extends Endpoints, Context, Caller>(
  options: ServerOptions<E, Context, Caller>,
  guard: SecretGuard,
): EndpointEntry<Caller> {
  return {
    guard,
    isCode: (bearer) =>
      options.secretPrefixes.some((prefix) => isRecoveryCode(bearer, prefix) || isPairingCode(bearer, prefix)),
    authenticate: (bearer) => options.authenticate(bearer),
    isMaintainer: (caller) => options.isMaintainer(caller),
    callerId: (caller) => options.callerId(caller),
  };
}

export function routesOf<E extends Endpoints, Context, Caller>(
  options: ServerOptions<E, Context, Caller>,
  entry: EndpointEntry<Caller>,
): Route<Caller>[] {
  const { guard } = entry;
  const endpoints = Object.entries<EndpointShape>(options.endpoints).map(([name, endpoint]) => {
    // The options' mapped type has checked this pair, but a loop over all names loses the types.
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
        answerEndpoint(entry, { endpoint, operation, preSchema }, incoming, caller),
    };
  });
  const by: PageGuard = {
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

export function routeOfExtra<Caller>(extra: ExtraRoute): Route<Caller> {
  return {
    path: extra.path,
    methods: extra.withHead ? methodsOf(extra.method) : [extra.method],
    bodyLimit: extra.bodyLimit ?? BODY_LIMIT_BYTES,
    streamsBody: extra.streamsBody === true,
    facts: { ...factsOfPage(extra), headers: extra.headers, optionsHeaders: extra.optionsHeaders },
    answer: (incoming: Incoming) => extra.answer(incoming),
  };
}

/** Adds the pages that some endpoints also have for people. Internal requests still get the endpoint's own answer. */
export function addRepresentations<E extends Endpoints, Context, Caller>(
  routes: readonly Route<Caller>[],
  { endpoints, representations }: Pick<ServerOptions<E, Context, Caller>, 'endpoints' | 'representations'>,
  inside: InternalRequests<Caller>,
): readonly Route<Caller>[] {
  const byRoute = new Map<string, RepresentationHandler | undefined>(
    Object.entries<RepresentationHandler | undefined>(representations?.(inside) ?? {}).map(([name, representation]) => {
      const endpoint = endpoints[name];
      if (endpoint?.method !== 'GET')
        throw new TypeError(`only what is read has a representation for people, and ${name} is not`);
      return [`GET ${endpoint.path}`, representation] as const;
    }),
  );
  return routes.map((route) => {
    const representation = byRoute.get(`${route.methods[0]} ${route.path}`);
    return representation === undefined
      ? route
      : { ...route, answer: (incoming) => answerWith(route, representation, incoming) };
  });
}

async function answerWith<Caller>(
  route: Route<Caller>,
  representation: RepresentationHandler,
  incoming: Incoming,
): Promise<Outgoing> {
  const { headers, ...rest } = (await representation(incoming)) ?? (await route.answer(incoming));
  const varies = headers['vary'];
  return { ...rest, headers: { ...headers, vary: varies === undefined ? 'accept' : `accept, ${String(varies)}` } };
}

interface PageGuard {
  guard: SecretGuard;
  /** Turns a thrown error into a refusal. Null if the error is a bug. */
  expect(error: unknown, incoming: Incoming): Refusal | null;
}

/** One year, because changed content gets another URL. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

async function answerPage(page: AnyPageRoute, incoming: Incoming, by: PageGuard): Promise<Outgoing> {
  const answer = await callHandler(page, incoming, by.guard).catch((error: unknown) =>
    presentRefusal(page, error, incoming, by),
  );
  const plain = { ...answer, headers: lowerCaseNames(answer.headers) };
  if (page.method === 'POST') return cacheAnswer(plain, 'private', undefined);
  const cache = page.cache ?? 'public';
  const cached = cacheAnswer(plain, cache === 'private' ? cache : 'public', incoming.headers['if-none-match']);
  if (cache === 'immutable' && cached.status < 400) cached.headers['cache-control'] = IMMUTABLE;
  // GET pages never repeat client input, so the compressed length reveals nothing about a form's token.
  return { ...cached, compress: true };
}

async function callHandler(page: AnyPageRoute, incoming: Incoming, guard: SecretGuard): Promise<PageAnswer> {
  if (page.method === 'POST') return await answerForm(page, incoming, guard);
  return await page.handler(readCall(incoming));
}

function readCall(incoming: Incoming): PageCall {
  return {
    params: incoming.params,
    query: readQuery(incoming.target.query),
    accept: incoming.headers.accept,
    cookies: readCookies(incoming.headers.cookie),
    path: incoming.target.whole,
    requestId: incoming.requestId,
    clientNetwork: incoming.clientNetwork,
    signal: incoming.signal,
  };
}

/** Runs the secret guard before the form's fields are reported. */
async function answerForm(page: FormPage, incoming: Incoming, guard: SecretGuard): Promise<PageAnswer> {
  const { headers, body } = incoming;
  let form: Record<string, string>;
  try {
    form = readForm(body, headers);
  } catch (error) {
    guardBody(guard, body, undefined);
    throw error;
  }
  guardBody(guard, form, page.secretFields);
  const site = headers['sec-fetch-site'];
  const sentFrom = { site: typeof site === 'string' ? site : undefined, origin: headers.origin };
  return await page.handler({ ...readCall(incoming), form, sentFrom });
}

/** Renders a refusal as the page does. Rethrows bugs, and refusals of pages that cannot render them. */
function presentRefusal(page: AnyPageRoute, error: unknown, incoming: Incoming, by: PageGuard): PageAnswer {
  const refusal = page.refused && by.expect(error, incoming);
  if (!refusal || page.refused === undefined) throw error;
  return page.refused(refusal);
}

function lowerCaseNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
