import { DEFAULT_TOKEN_SCOPES, TOKEN_SCOPES } from '../../contract/connections.ts';
import { guardBody, secretInJson } from '../../platform/http/guard-request.ts';
import { decodeComponent, type Incoming, type Outgoing } from '../../platform/http/message.ts';
import type { ExtraRoute } from '../../platform/http/server-options.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { SecretGuard } from '../../platform/secrets.ts';
import type { Market } from '../context.ts';
import { takeNetworkQuota } from '../limits/quotas.ts';
import type { ProviderCalls } from './call-provider.ts';
import { hostOfClient } from './client-metadata.ts';
import { idHash } from './create-adapter.ts';
import { PATHS } from './interaction.ts';
import { answerPerson, answerProgram, type ShowFault } from './show-fault.ts';
import { extendClient } from './store.ts';

/**
 * Parameters that are forwarded unchanged. Those in NORMALIZED_PARAMETERS are forwarded in normalized form, and all others are dropped. The
 * provider refuses each parameter in the second line with its own error.
 */
const PARAMETERS: ReadonlySet<string> = new Set([
  ...['client_id', 'redirect_uri', 'state', 'code_challenge', 'code_challenge_method', 'resource'],
  ...['request', 'request_uri', 'registration'],
]);

const NORMALIZED_PARAMETERS: ReadonlySet<string> = new Set(['scope', 'prompt', 'response_type', 'response_mode']);

/**
 * Only a code in the query is supported. Another value is replaced by an unknown one, because with a known mode even the refusal would be
 * sent in that mode.
 */
const REQUIRED_VALUES: Readonly<Record<string, string>> = { response_type: 'code', response_mode: 'query' };

/** Makes each authorization ask the user again, in one step. */
const PROMPT_EVERY_TIME = 'login consent';

/** Mounts the two steps of an authorization in a browser: before and after our page. */
export function mountAuthorization(market: Market, calls: ProviderCalls, show: ShowFault): ExtraRoute[] {
  const takeStep = async (path: string, incoming: Incoming, mayRedirect: boolean): Promise<Outgoing> => {
    const { answer, fault } = await calls.ask({ method: 'GET', path, withCookies: true }, incoming);
    // Redirect a refusal only to a published client, or after the user has seen our page. Otherwise show an error page.
    return fault === null || (mayRedirect && answer.status < 400) ? answer : answerPerson(fault, incoming, show);
  };
  return [
    {
      method: 'GET',
      path: PATHS.authorization,
      ownOrigin: true,
      answer: async (incoming) => {
        const path = `${PATHS.authorization}?${normalizeQuery(incoming.target.query)}`;
        // Each start inserts a row that is kept for more than an hour.
        await takeNetworkQuota(market, 'oauth_starts_per_ip_hour', incoming.clientNetwork);
        return await takeStep(path, incoming, isPublished(incoming.target.query));
      },
    },
    {
      method: 'GET',
      path: `${PATHS.authorization}/:uid`,
      ownOrigin: true,
      answer: async (incoming) =>
        await takeStep(`${PATHS.authorization}/${encodeURIComponent(incoming.params['uid'] ?? '')}`, incoming, true),
    },
  ];
}

/**
 * Returns whether the client has a metadata document at its own address. A client that registered itself may name any redirect, so a
 * refusal sent there before the user saw our page would make this site an open redirector.
 */
function isPublished(query: string): boolean {
  return hostOfClient(new URLSearchParams(query).get('client_id') ?? '') !== null;
}

/** Reduces a host's query to what the authorization server accepts. Keeps duplicates, which the server then refuses. */
export function normalizeQuery(query: string): string {
  const kept: string[] = [];
  const special = new Map<string, string[]>();
  for (const pair of query.split('&')) {
    const [name, value] = splitPair(pair);
    if (NORMALIZED_PARAMETERS.has(name)) special.set(name, [...(special.get(name) ?? []), value]);
    else if (PARAMETERS.has(name)) kept.push(pair);
  }
  const added = new URLSearchParams();
  for (const scope of special.get('scope') ?? ['']) added.append('scope', normalizeScope(scope));
  for (const [name, only] of Object.entries(REQUIRED_VALUES)) {
    for (const value of special.get(name) ?? []) added.append(name, value === only ? value : 'unknown');
  }
  added.append('prompt', special.get('prompt')?.includes('none') ? 'none' : PROMPT_EVERY_TIME);
  return [...kept, added.toString()].join('&');
}

/** Keeps known scopes in our order (the defaults if none). Drops `offline_access`, because every client gets a refresh token. */
function normalizeScope(scopes: string): string {
  const requested = scopes.split(' ');
  const supported = TOKEN_SCOPES.filter((scope) => requested.includes(scope));
  return (supported.length > 0 ? supported : DEFAULT_TOKEN_SCOPES).join(' ');
}

function splitPair(pair: string): [name: string, value: string] {
  const mark = pair.indexOf('=');
  const name = decodeComponent(mark < 0 ? pair : pair.slice(0, mark));
  const value = mark < 0 ? '' : decodeComponent(pair.slice(mark + 1));
  if (name === null || value === null || value.includes('\u0000')) {
    throw new Refusal('invalid_query', { detail: 'The query contains malformed percent-encoding or a NUL.' });
  }
  return [name, value];
}

export const OAUTH_BODY_BYTES = 57_344;
const DAY_MS = 86_400_000;
/** How long a registered client is kept without use. */
const CLIENT_DAYS = 90;

/** Mounts the endpoints that programs call: token, revocation and key set. */
export function mountToken(market: Market, calls: ProviderCalls, guard: SecretGuard): ExtraRoute[] {
  return [
    {
      method: 'POST',
      path: PATHS.token,
      bodyLimit: OAUTH_BODY_BYTES,
      answer: async (incoming) => {
        const fields = guardForm(guard, incoming);
        const outgoing = await sendToken(calls, PATHS.token, fields, incoming);
        const clientId = fields.get('client_id');
        if (outgoing.status === 200 && clientId !== null) await recordClientUse(market, clientId);
        return outgoing;
      },
    },
    {
      method: 'POST',
      path: PATHS.revocation,
      bodyLimit: OAUTH_BODY_BYTES,
      answer: async (incoming) => await sendToken(calls, PATHS.revocation, guardForm(guard, incoming), incoming),
    },
    {
      method: 'GET',
      path: PATHS.jwks,
      answer: async (incoming) => (await calls.ask({ method: 'GET', path: PATHS.jwks }, incoming)).answer,
    },
  ];
}

/** Refuses a form that contains a key or code, whether raw, decoded or as JSON. */
function guardForm(guard: SecretGuard, { body }: Incoming): URLSearchParams {
  guardBody(guard, body, undefined);
  const text = Buffer.from(body).toString('utf8');
  const fields = new URLSearchParams(text);
  guardBody(guard, [...fields].flat(), undefined);
  if (secretInJson(guard, jsonIn(text))) throw new Refusal('secret_in_payload');
  return fields;
}

/** Parses JSON to search it for secrets, although the provider refuses JSON bodies anyway. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** Does not forward Authorization, because clients have no secret here and a key sent by mistake must not get further. */
async function sendToken(
  calls: ProviderCalls,
  path: string,
  fields: URLSearchParams,
  incoming: Incoming,
): Promise<Outgoing> {
  const type = incoming.headers['content-type'];
  const headers = type === undefined ? {} : { 'content-type': type };
  const body = normalizeTokenScope(fields).toString();
  const { answer, fault } = await calls.ask({ method: 'POST', path, headers, body }, incoming);
  return fault === null ? answer : answerProgram(answer, fault, incoming);
}

/** Drops unknown scopes instead of refusing them, as at the start of an authorization. */
function normalizeTokenScope(fields: URLSearchParams): URLSearchParams {
  const scopes = fields.getAll('scope');
  if (scopes.length !== 1) return fields;
  const requested = scopes.join(' ').split(' ');
  const supported = TOKEN_SCOPES.filter((scope) => requested.includes(scope));
  const rest = new URLSearchParams([...fields].filter(([name]) => name !== 'scope'));
  if (supported.length > 0) rest.set('scope', supported.join(' '));
  return rest;
}

async function recordClientUse({ clock, database }: Market, clientId: string): Promise<void> {
  const now = clock.now();
  const until = new Date(now + CLIENT_DAYS * DAY_MS);
  const unlessAfter = new Date(now + (CLIENT_DAYS - 1) * DAY_MS);
  await extendClient(database, idHash(clientId), until, unlessAfter);
}
