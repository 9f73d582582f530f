import { TOKEN_SCOPES } from '../../contract/token-scopes.ts';
import { guardBody } from '../../platform/http/guard-request.ts';
import type { Incoming, Outgoing } from '../../platform/http/message.ts';
import type { Mount } from '../../platform/http/server-options.ts';
import type { SecretGuard } from '../../platform/secrets.ts';
import type { Market } from '../context.ts';
import type { ProviderCalls } from './call-provider.ts';
import { idHash } from './create-adapter.ts';
import { PATHS } from './paths.ts';
import { answerProgram } from './show-fault.ts';
import { keepClient } from './store.ts';

export const OAUTH_BODY_BYTES = 57_344;
const DAY_MS = 86_400_000;
/** A client that registered itself is forgotten after as long without use. */
const CLIENT_DAYS = 90;

/** Where programs come by themselves: for tokens, to give them back, and for the key set. */
export function mountToken(market: Market, calls: ProviderCalls, guard: SecretGuard): Mount[] {
  return [
    {
      method: 'POST',
      path: PATHS.token,
      bodyLimit: OAUTH_BODY_BYTES,
      answer: async (incoming) => {
        const fields = guardForm(guard, incoming);
        const outgoing = await send(calls, PATHS.token, fields, incoming);
        const clientId = fields.get('client_id');
        if (outgoing.status === 200 && clientId !== null) await noteUse(market, clientId);
        return outgoing;
      },
    },
    {
      method: 'POST',
      path: PATHS.revocation,
      bodyLimit: OAUTH_BODY_BYTES,
      answer: async (incoming) => await send(calls, PATHS.revocation, guardForm(guard, incoming), incoming),
    },
    {
      method: 'GET',
      path: PATHS.jwks,
      answer: async (incoming) => (await calls.ask({ method: 'GET', path: PATHS.jwks }, incoming)).answer,
    },
  ];
}

/** No key and no code gets further than this, however it is spelled. */
function guardForm(guard: SecretGuard, { body }: Incoming): URLSearchParams {
  guardBody(guard, body, undefined);
  const text = Buffer.from(body).toString('utf8');
  const fields = new URLSearchParams(text);
  guardBody(guard, [...fields].flat(), undefined);
  guardBody(guard, jsonIn(text), undefined);
  return fields;
}

/** It is refused as a form, but not before it was looked through. */
function jsonIn(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return null;
  }
}

/** The Authorization header is not passed on: clients have no passwords here, and a key that a client sends must not get further. */
async function send(
  calls: ProviderCalls,
  path: string,
  fields: URLSearchParams,
  incoming: Incoming,
): Promise<Outgoing> {
  const type = incoming.headers['content-type'];
  const headers = type === undefined ? {} : { 'content-type': type };
  const body = normalizeScope(fields).toString();
  const { answer, fault } = await calls.ask({ method: 'POST', path, headers, body }, incoming);
  return fault === null ? answer : answerProgram(answer, fault, incoming);
}

/** As at the beginning: scopes that there are not are no reason to refuse. */
function normalizeScope(fields: URLSearchParams): URLSearchParams {
  const given = fields.getAll('scope');
  if (given.length !== 1) return fields;
  const asked = given.join(' ').split(' ');
  const known = TOKEN_SCOPES.filter((scope) => asked.includes(scope));
  const rest = new URLSearchParams([...fields].filter(([name]) => name !== 'scope'));
  if (known.length > 0) rest.set('scope', known.join(' '));
  return rest;
}

async function noteUse({ clock, database }: Market, clientId: string): Promise<void> {
  const now = clock.now();
  const until = new Date(now + CLIENT_DAYS * DAY_MS);
  const unlessAfter = new Date(now + (CLIENT_DAYS - 1) * DAY_MS);
  await keepClient(database, idHash(clientId), until, unlessAfter);
}
