import { createHash } from 'node:crypto';
import { systemRandom } from '../../src/platform/random.ts';
import type { ClientShape } from './oauth-shapes.ts';

/** A browser for one site. Keeps cookies by name and path, and follows redirects only on request. */
interface Browser {
  get(url: string): Promise<Response>;
  cookiesFor(url: string): string;
  /** All cookie values that the browser ever received. */
  readonly seen: ReadonlySet<string>;
  /** Follows redirects within the site. Ends at a page, or at a redirect to another site. */
  follow(url: string): Promise<Stop>;
}

/** End of a chain of redirects. */
interface Stop {
  /** URL of the page, or of the redirect out of the site. */
  url: string;
  /** Null if the browser left the site. */
  page: { status: number; headers: Headers; text: string } | null;
}

interface Cookie {
  name: string;
  value: string;
  path: string;
}

const MAX_STEPS = 10;

export function openBrowser(): Browser {
  const jar = new Map<string, Cookie>();
  const seen = new Set<string>();
  const cookiesFor = (url: string): string => {
    const { pathname } = new URL(url);
    const fits = ({ path }: Cookie): boolean =>
      path === '/' || pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
    return [...jar.values()]
      .filter(fits)
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
  };
  const get = async (url: string): Promise<Response> => {
    const cookie = cookiesFor(url);
    const headers = { accept: 'text/html', ...(cookie === '' ? {} : { cookie }) };
    const response = await fetch(url, { headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const { cookie: set, isGone } = readCookie(line);
      const key = `${set.name} ${set.path}`;
      if (isGone) jar.delete(key);
      else jar.set(key, set);
      if (set.value !== '') seen.add(set.value);
    }
    return response;
  };
  const follow = async (url: string): Promise<Stop> => {
    const { origin } = new URL(url);
    for (let step = 0, at = url; step < MAX_STEPS; step += 1) {
      const response = await get(at);
      const text = await response.text();
      const location = response.headers.get('location');
      const { status, headers } = response;
      if (location === null) return { url: at, page: { status, headers, text } };
      at = new URL(location, at).href;
      if (!at.startsWith(`${origin}/`)) return { url: at, page: null };
    }
    throw new Error('the site sends its visitors in a circle');
  };
  return { get, cookiesFor, seen, follow };
}

function readCookie(line: string): { cookie: Cookie; isGone: boolean } {
  const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
  const mark = pair.indexOf('=');
  const attribute = (name: string): string | undefined =>
    attributes.find((one) => one.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1);
  const expires = attribute('expires');
  const isGone = expires !== undefined && Date.parse(expires) < Date.parse('1971-01-01');
  return { cookie: { name: pair.slice(0, mark), value: pair.slice(mark + 1), path: attribute('path') ?? '/' }, isGone };
}

/** A client of the hosted connector that follows the specification step by step and knows only the server's address. */

export interface ServerFacts {
  issuer: string;
  scopes_supported: string[];
  authorization_endpoint: string;
  token_endpoint: string;
  registration_endpoint: string;
  revocation_endpoint: string;
  resource: string;
}

export interface Tokens {
  access_token: string;
  refresh_token?: string;
  expires_in: number;
  scope: string;
}

interface Answered {
  status: number;
  body: Record<string, unknown>;
}

/** A started authorization: the client's own secrets and the URL for its user. */
export interface Begun {
  clientId: string;
  redirectUri: string;
  resource: string | null;
  state: string;
  verifier: string;
  url: string;
}

export interface ConsentPage {
  browser: Browser;
  url: string;
  uid: string;
  status: number;
  text: string;
}

const random = (): string => systemRandom.bytes(32).toString('base64url');

export async function discover(baseUrl: string): Promise<ServerFacts> {
  const resource = await readJson(`${baseUrl}/.well-known/oauth-protected-resource/mcp/connect`);
  const [issuer] = resource['authorization_servers'] as string[];
  const server = await readJson(`${issuer}/.well-known/oauth-authorization-server`);
  if (server['issuer'] !== issuer) throw new Error('the document is of another server');
  return { ...server, resource: resource['resource'] } as unknown as ServerFacts;
}

export async function readJson(url: string): Promise<Record<string, unknown>> {
  const response = await fetch(url);
  if (response.status !== 200) throw new Error(`${url}: ${response.status}`);
  return (await response.json()) as Record<string, unknown>;
}

export async function post(url: string, body: URLSearchParams | object): Promise<Answered> {
  const isForm = body instanceof URLSearchParams;
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json' },
    body: isForm ? body.toString() : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
}

export async function learnClientId(server: ServerFacts, { document, registration }: ClientShape): Promise<string> {
  if (document !== undefined) return document.client_id;
  const { status, body } = await post(server.registration_endpoint, registration ?? {});
  if (status !== 201) throw new Error(`not registered: ${status} ${JSON.stringify(body)}`);
  return String(body['client_id']);
}

/** Builds an authorization URL. `changed` overrides parameters; null omits one. */
export function beginAuthorization(
  server: ServerFacts,
  { clientId, shape }: { clientId: string; shape: ClientShape },
  changed: Readonly<Record<string, string | null>> = {},
): Begun {
  const verifier = random();
  const state = random();
  const asked: Record<string, string | null> = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: shape.redirectUri,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    scope: shape.scope ?? null,
    resource: shape.withoutResource === true ? null : server.resource,
    ...changed,
  };
  const url = new URL(server.authorization_endpoint);
  for (const [name, value] of Object.entries(asked)) if (value !== null) url.searchParams.set(name, value);
  const { redirect_uri: redirectUri, resource } = asked;
  return {
    clientId,
    redirectUri: redirectUri ?? shape.redirectUri,
    resource: resource ?? null,
    state,
    verifier,
    url: url.href,
  };
}

/** Opens the consent page in a browser. Throws if the server shows no such page. */
export async function openConsent(begun: Begun, browser: Browser = openBrowser()): Promise<ConsentPage> {
  const stop = await browser.follow(begun.url);
  const uid = /\/oauth\/interaction\/([^/?]+)$/.exec(stop.url)?.[1];
  if (stop.page === null || uid === undefined) throw new Error(`no page: ${stop.url} ${stop.page?.text ?? ''}`);
  return { browser, url: stop.url, uid, status: stop.page.status, text: stop.page.text };
}

/** Follows the redirect back to the client, checks state and issuer, and returns the parameters received. */
export async function followRedirectBack(
  server: ServerFacts,
  { state, redirectUri }: Pick<Begun, 'state' | 'redirectUri'>,
  { browser, location }: { browser: Browser; location: string },
): Promise<URLSearchParams> {
  const stop = await browser.follow(location);
  if (stop.page !== null) throw new Error(`not sent back: ${stop.page.status} ${stop.page.text}`);
  const { searchParams: sent } = new URL(stop.url);
  if (!stop.url.startsWith(redirectUri)) throw new Error('sent somewhere else');
  if (sent.get('state') !== state) throw new Error('another state');
  if (sent.get('iss') !== server.issuer) throw new Error('another issuer');
  return sent;
}

/** Exchanges the code for tokens. `changed` overrides parameters; null omits one. */
export async function redeem(
  server: ServerFacts,
  begun: Begun,
  code: string,
  changed: Readonly<Record<string, string | null>> = {},
): Promise<Answered> {
  return await post(
    server.token_endpoint,
    formOf({
      grant_type: 'authorization_code',
      code,
      client_id: begun.clientId,
      redirect_uri: begun.redirectUri,
      code_verifier: begun.verifier,
      resource: begun.resource,
      ...changed,
    }),
  );
}

export async function refresh(
  server: ServerFacts,
  clientId: string,
  refreshToken: string,
  changed: Readonly<Record<string, string | null>> = {},
): Promise<Answered> {
  const asked = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: clientId, ...changed };
  return await post(server.token_endpoint, formOf(asked));
}

function formOf(fields: Readonly<Record<string, string | null>>): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== null) form.set(name, value);
  return form;
}

export interface Connected {
  server: ServerFacts;
  begun: Begun;
  browser: Browser;
  code: string;
  tokens: Tokens;
}

/**
 * Runs the whole flow: discovery, registration, authorization, tokens. `decide` acts for the person on the page and returns the redirect
 * URL.
 */
export async function connectClient(
  baseUrl: string,
  shape: ClientShape,
  decide: (page: ConsentPage) => Promise<string>,
): Promise<Connected> {
  const server = await discover(baseUrl);
  const clientId = await learnClientId(server, shape);
  return await authorizeClient(server, { clientId, shape }, decide);
}

/** Runs the flow from authorization to tokens. `changed` overrides parameters; null omits one. */
export async function authorizeClient(
  server: ServerFacts,
  { clientId, shape }: { clientId: string; shape: ClientShape },
  decide: (page: ConsentPage) => Promise<string>,
  changed: Readonly<Record<string, string | null>> = {},
): Promise<Connected> {
  const begun = beginAuthorization(server, { clientId, shape }, changed);
  const page = await openConsent(begun);
  const { browser } = page;
  const sent = await followRedirectBack(server, begun, { browser, location: await decide(page) });
  const code = sent.get('code');
  if (code === null) throw new Error(`no code: ${sent.get('error')}`);
  const { status, body } = await redeem(server, begun, code);
  if (status !== 200) throw new Error(`no tokens: ${status} ${JSON.stringify(body)}`);
  return { server, begun, browser, code, tokens: body as unknown as Tokens };
}
