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

/** One operation per endpoint. A missing one does not compile. */
export type Operations<E extends Endpoints, Context, Caller> = {
  readonly [Name in keyof E]: ReadOperation<E[Name], Context, Caller>;
};

export interface PageCall {
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, string>>;
  accept: string | undefined;
  /** Cookies by name. A repeated name is left out, because the server cannot tell which one is its own. */
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
  /** Strong and quoted. Omitted: computed from the body. */
  etag?: string;
  /** Called once when the body is no longer needed, because its memory may then be overwritten. */
  release?(): void;
}

interface AnyPage {
  path: string;
  /** Served even when the server is full, because probes must not fail under load. */
  unlimited?: true;
  /** For this site's own pages only: scripts of other origins may not read it. */
  ownOrigin?: true;
  /** Renders a refusal. Omitted: a problem document is sent. */
  refused?(refusal: Refusal): PageAnswer;
}

/** A page with its own handler. Guard and error answers are the same as for endpoints. */
export interface Page extends AnyPage {
  method: 'GET';
  /** Default: `public`. `immutable`: the URL changes with the content. */
  cache?: 'public' | 'private' | 'immutable';
  handler(call: PageCall): PageAnswer | Promise<PageAnswer>;
}

export function page(definition: Page): Page {
  return definition;
}

export interface FormCall extends PageCall {
  form: Readonly<Record<string, string>>;
  /** Sec-Fetch-Site and Origin: where the form was sent from, according to the browser. */
  sentFrom: { site: string | undefined; origin: string | undefined };
}

/** Receives a form of a page. Never cached. */
export interface FormPage extends AnyPage {
  method: 'POST';
  secretFields: readonly string[];
  handler(call: FormCall): PageAnswer | Promise<PageAnswer>;
}

export function formPage(definition: FormPage): FormPage {
  return definition;
}

export type AnyPageRoute = Page | FormPage;

/** Facts about a refused request that a page may show. Contains nothing from the client except Accept. */
export interface RefusedRequest {
  accept: string | undefined;
  requestId: string;
  /** The route's pattern. Null: no route has that path. */
  route: string | null;
}

/** Replaces the body of a problem. Status, caching and other headers stay those of the problem. */
export interface RefusedPage {
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** Serves a public read in another format that the client asked for. Null: the endpoint answers. */
export type RepresentationHandler = (incoming: Incoming) => Promise<Outgoing | null>;

export interface ServerOptions<E extends Endpoints, Context, Caller> {
  endpoints: E;
  operations: Operations<E, Context, Caller>;
  context: Context;
  /** Finds the owner of a key. Null: nobody. */
  authenticate(bearer: string): Promise<Caller | null>;
  isMaintainer(caller: Caller): boolean;
  /** Returns the id that represents the caller in the access log. */
  callerId(caller: Caller): bigint;
  log: Log;
  clock: Clock;
  random: Random;
  /** Returns the URL of the page that explains a reason. */
  docsUrl(reason: string): string;
  /** Key prefixes for the secret guard: this site's and its sister site's. */
  secretPrefixes: readonly string[];
  /** Proxies that may name the client's address. False: none. */
  trustProxy: false | string[];
  bounds?: Partial<Bounds>;
  /** Maps other errors, such as a lost database, to a refusal with one of the route's reasons. Null: a bug, answered 500. */
  classifyError?(error: unknown, reasons: readonly Reason[]): Refusal | null;
  /** Checks the raw body before its schema does, for refusals that a schema cannot give. */
  preSchema?: { readonly [Name in keyof E]?: (rawBody: unknown) => Refusal | null };
  pages?: readonly AnyPageRoute[];
  /** Renders a refusal for people where the page has no `refused`. Null: a problem document is sent. */
  refusedPage?(refusal: Refusal, request: RefusedRequest): RefusedPage | null;
  /** Pages for people at the URLs of read endpoints. */
  representations?(inside: InternalRequests<Caller>): { readonly [Name in keyof E]?: RepresentationHandler };
  /** Other protocols on the same server. */
  extraRoutes?(inside: InternalRequests<Caller>): readonly ExtraRoute[];
  /** Called first for every GET and HEAD with a plain head. */
  fromMemory?: ReadFromMemory;
  /** Each network's budget for reads from memory, in milliseconds. Once it is used up, the framework answers. */
  readMs?: ReadMeter;
}

/**
 * A route that parses its own body, for another protocol on this server. Head, load and errors are handled as for every route, but the
 * route itself must check the body for secrets.
 */
export interface ExtraRoute {
  method: 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  bodyLimit?: number;
  /** Reads the body as it arrives, from `incoming.stream`, and limits it itself. */
  streamsBody?: true;
  /** Headers of every answer, refusals included. */
  headers?: Readonly<Record<string, string>>;
  /** Headers of the answer to OPTIONS at this path. */
  optionsHeaders?: Readonly<Record<string, string>>;
  /** For this site's own pages only: scripts of other origins may not read it. */
  ownOrigin?: true;
  /** Only for a GET: also answers HEAD. */
  withHead?: true;
  answer(incoming: Incoming): Promise<Outgoing>;
}

export interface InternalRequest {
  /** Method and pattern of the route, as in `POST /api/buy/:id`. */
  route: string;
  /** Path parameters by name, not encoded. */
  params?: Readonly<Record<string, string>>;
  /** Encoded, without the question mark. */
  query?: string;
  /** Headers with lower-case names. */
  headers?: Readonly<Record<string, string>>;
  /** JSON. Omitted: no body. */
  body?: unknown;
}

export interface InternalRequests<Caller> {
  guard: SecretGuard;
  /** Returns the owner of the key in Authorization, as an endpoint with `auth: 'key'` does. Notes the caller for the access log. */
  identify(incoming: Incoming): Promise<Caller>;
  /**
   * Answers as the route would, including refusals and failures. `from` is the outer request. The secret guard must have checked the input
   * already. `caller` replaces Authorization.
   */
  ask(request: InternalRequest, from: Incoming, caller?: Caller): Promise<Outgoing>;
  /** Turns a thrown error into the problem that the route would answer. Also writes its notes and log line. */
  refuse(error: unknown, from: Incoming): Outgoing;
}
