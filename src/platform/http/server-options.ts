import type { EndpointShape } from '../../contract/endpoint.ts';
import type { Reason } from '../../contract/errors.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Random } from '../random.ts';
import type { Refusal } from '../refusal.ts';
import type { SecretGuard } from '../secrets.ts';
import type { Bounds } from './admission/bounds.ts';
import type { ReadMeter } from './from-memory.ts';
import type { Incoming, Outgoing } from './message.ts';
import type { ReadFromMemory, ReadOperation } from './operation.ts';

export type Endpoints = Readonly<Record<string, EndpointShape>>;

/** One operation for each endpoint: a missing one does not compile. */
export type Operations<E extends Endpoints, Context, Caller> = {
  readonly [Name in keyof E]: ReadOperation<E[Name], Context, Caller>;
};

export interface PageCall {
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, string>>;
  /** The Accept header; see accept.ts for reading it. */
  accept: string | undefined;
  /** By name. One that was sent more than once is left out: the server cannot tell which of them is ours. */
  cookies: Readonly<Record<string, string>>;
  /** Path and query as sent. */
  path: string;
  requestId: string;
  clientNetwork: string;
  signal: AbortSignal;
}

export interface PageAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string | Uint8Array;
  /** Where it is known already, strong and quoted; otherwise it is made from the body. */
  etag?: string;
  /** Called once, when the body is not needed any more: its memory may be written again. */
  release?(): void;
}

interface AnyPage {
  path: string;
  /** Served even when the server is full: probes must not fail for load. */
  unlimited?: true;
  /** For this site's own pages only: scripts of other origins may not read it. */
  ownOrigin?: true;
  /** How a refusal looks here; otherwise it is a problem like everywhere. */
  refused?(refusal: Refusal): PageAnswer;
}

/** A route written by hand. It passes the same guard, and what it throws is answered like everything else. */
export interface Page extends AnyPage {
  method: 'GET';
  /** As for endpoints, `public` is what is assumed; `immutable`: the address changes with the content. */
  cache?: 'public' | 'private' | 'immutable';
  handler(call: PageCall): PageAnswer | Promise<PageAnswer>;
}

export function page(definition: Page): Page {
  return definition;
}

export interface FormCall extends PageCall {
  /** Every field that was sent, by name. */
  form: Readonly<Record<string, string>>;
  /** What the browser says about where the form was sent from: Sec-Fetch-Site and Origin. */
  sentFrom: { site: string | undefined; origin: string | undefined };
}

/** Takes the forms of pages. Never kept by anybody. */
export interface FormPage extends AnyPage {
  method: 'POST';
  /** Fields that are a secret's own place (W1). */
  secretFields: readonly string[];
  handler(call: FormCall): PageAnswer | Promise<PageAnswer>;
}

export function formPage(definition: FormPage): FormPage {
  return definition;
}

export type AnyPageRoute = Page | FormPage;

/** What may be said to a person about a request that was refused: nothing that was sent is in it, so nothing of it can be shown. */
export interface RefusedRequest {
  accept: string | undefined;
  requestId: string;
  /** The pattern of the route; null: nothing is at that address. */
  route: string | null;
}

/** Takes the place of a problem's body; status, caching and all other headers stay the problem's. */
export interface RefusedPage {
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** Another form of a public read at the same address, for who asks for that form; null: the endpoint answers. */
export type RepresentationHandler = (incoming: Incoming) => Promise<Outgoing | null>;

export interface ServerOptions<E extends Endpoints, Context, Caller> {
  endpoints: E;
  operations: Operations<E, Context, Caller>;
  context: Context;
  /** Whose key this is; null if no caller has it. */
  authenticate(bearer: string): Promise<Caller | null>;
  isMaintainer(caller: Caller): boolean;
  /** What the access log calls a caller. */
  callerId(caller: Caller): bigint;
  log: Log;
  clock: Clock;
  random: Random;
  /** The page that explains a reason. */
  docsUrl(reason: string): string;
  /** Whose keys and codes the secret guard knows: this site's, and its sister site's. */
  secretPrefixes: readonly string[];
  /** Proxies that may name the client's address; false: none. */
  trustProxy: false | string[];
  /** How much strangers may hold of this server. */
  bounds?: Partial<Bounds>;
  /** What an error that is no Refusal stands for (a lost database, say), on a route with these reasons; null: a bug, answered 500. */
  classifyError?(error: unknown, reasons: readonly Reason[]): Refusal | null;
  /** Looks at the body before its schema does, for answers that a schema cannot give. */
  preSchema?: { readonly [Name in keyof E]?: (rawBody: unknown) => Refusal | null };
  pages?: readonly AnyPageRoute[];
  /** How a refusal looks to people, wherever no page has a `refused` of its own; null: as a problem. */
  refusedPage?(refusal: Refusal, request: RefusedRequest): RefusedPage | null;
  /** How endpoints that are read look to people, where they have pages at their own addresses. */
  representations?(inside: InternalRequests<Caller>): { readonly [Name in keyof E]?: RepresentationHandler };
  /** Other protocols on the same server. */
  extraRoutes?(inside: InternalRequests<Caller>): readonly ExtraRoute[];
  /** Asked first about every GET and HEAD whose head is plain. */
  fromMemory?: ReadFromMemory;
  /** What reads from memory may cost a network, in milliseconds; a network that has used it up goes to the framework. */
  readMs?: ReadMeter;
}

/**
 * A route that reads its request itself: another protocol on the same server. Head and load are checked as for every route, what it
 * throws is answered like everything else; the guard over its body is its own duty.
 */
export interface ExtraRoute {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  /** Bytes; the default is BODY_LIMIT_BYTES. */
  bodyLimit?: number;
  /** For this site's own pages only: scripts of other origins may not read it. */
  ownOrigin?: true;
  /** A GET that is asked about with HEAD as well. */
  withHead?: true;
  answer(incoming: Incoming): Promise<Outgoing>;
}

/** A request to another route of this server. */
export interface InternalRequest {
  /** Method and pattern of the route, as in `POST /api/buy/:id`. */
  route: string;
  /** By name; values as text, not encoded. */
  params?: Readonly<Record<string, string>>;
  /** Without the question mark, encoded. */
  query?: string;
  /** Lower-case names. */
  headers?: Readonly<Record<string, string>>;
  /** JSON; left out: no body. */
  body?: unknown;
}

/** How extra routes call the other routes of the same server. */
export interface InternalRequests<Caller> {
  guard: SecretGuard;
  /**
   * Answers as the route would, refusals and failures included. `from` is the request on whose behalf it is asked; what is asked for has
   * passed the guard already. A known caller stands in for Authorization.
   */
  ask(request: InternalRequest, from: Incoming, caller?: Caller): Promise<Outgoing>;
  /** What was thrown, as the problem that the route would answer; notes and log included. */
  refuse(error: unknown, from: Incoming): Outgoing;
}
