import { TOKEN_SCOPES } from '../../contract/token-scopes.ts';
import { MAINTAINER_MERCHANT_ID } from '../../contract/vocabulary.ts';
import type { Market } from '../context.ts';
import { idHash } from './create-adapter.ts';
import { resourceOf } from './paths.ts';
import { findVisitor, noteGrantProven, noteHostProven } from './store.ts';
import type { Visitor } from './visitor.ts';

/** As the authorization server makes them: 256 bits. Anything else need not be looked for. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Nothing is remembered: a token that was revoked is dead at once, on every process. */
export async function authenticateVisitor(market: Market, token: string): Promise<Visitor | null> {
  if (!TOKEN.test(token)) return null;
  const { clock, config, database } = market;
  const row = await findVisitor(database, idHash(token), new Date(clock.now()));
  if (row === null || row.aud !== resourceOf(config)) return null;
  const { merchant_id: id, handle, key_id: keyId, client_host: clientHost } = row;
  const held = row.scope?.split(' ') ?? [];
  const isOfHosts = clientHost !== null && config.hostedHosts.includes(clientHost);
  return {
    merchant: { id, handle, maintainer: id === BigInt(MAINTAINER_MERCHANT_ID), keyId },
    grantId: row.grant_id,
    scopes: new Set(TOKEN_SCOPES.filter((scope) => held.includes(scope) && row.granted.includes(scope))),
    clientHost,
    proven: row.is_grant_proven || (isOfHosts && row.is_host_proven),
  };
}

/** A host that anybody could name says nothing for others: only those of the configuration become public. */
export async function noteProven({ clock, config, database }: Market, visitor: Visitor): Promise<void> {
  const at = new Date(clock.now());
  const { grantId, clientHost } = visitor;
  await noteGrantProven(database, grantId, at);
  if (clientHost !== null && config.hostedHosts.includes(clientHost)) await noteHostProven(database, clientHost, at);
}
