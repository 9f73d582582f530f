import Provider, { type Interaction as Attempt, errors, type InteractionResults } from 'oidc-provider';
import { TOKEN_SCOPES } from '../../contract/connections.ts';
import type { Tx } from '../../platform/database/database.ts';
import type { Incoming } from '../../platform/http/message.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { findCurrentKey, lockIdentity } from '../identity/store.ts';
import type { ProviderCalls } from './call-provider.ts';
import { cleanName, hostOfClient, hostOfRedirect, staysOnOwnMachine } from './client-metadata.ts';
import { type Artifacts, idHash } from './create-adapter.ts';
import { type Interaction, type Interactions, resourceOf, type SignInProof } from './interaction.ts';
import { consumeArtifact, insertGrant } from './store.ts';

interface InteractionDependencies {
  market: Market;
  provider: Provider;
  calls: ProviderCalls;
  artifacts: Artifacts;
}

export function createInteractions(parts: InteractionDependencies): Interactions {
  return {
    find: async (incoming, uid) => {
      const attempt = await findAttempt(parts, incoming, uid);
      return attempt === null ? null : await describeInteraction(parts, attempt);
    },
    allow: async (incoming, interaction, proof) => await allowInteraction(parts, incoming, { interaction, proof }),
    cancel: async (incoming, { uid }) =>
      await parts.market.database.transaction(async (tx) => {
        const denied = { error: 'access_denied', error_description: 'The user said no.' };
        return await finishInteraction(parts, tx, { incoming, uid }, async () => denied);
      }),
  };
}

/** Finds this browser's attempt. Null if there is none or it is already decided. */
async function findAttempt(
  { calls, provider }: InteractionDependencies,
  incoming: Incoming,
  uid: string,
): Promise<Attempt | null> {
  const attempt = await calls
    .withRequest(incoming, (request, response) => provider.interactionDetails(request, response))
    .catch((error: unknown) => {
      if (error instanceof errors.SessionNotFound) return null;
      throw error;
    });
  return attempt === null || attempt.uid !== uid || attempt.result !== undefined ? null : attempt;
}

async function describeInteraction(
  { provider }: InteractionDependencies,
  { uid, params }: Attempt,
): Promise<Interaction | null> {
  const clientId = textOf(params['client_id']);
  const client = await provider.Client.find(clientId).catch((error: unknown) => {
    if (!(error instanceof errors.OIDCProviderError)) throw error;
    throw new Refusal('unavailable', {
      detail: 'The description of the client cannot be read right now.',
      retryAfterSeconds: 10,
    });
  });
  if (client === undefined) return null;
  return {
    uid,
    client: {
      name: cleanName(client.clientName),
      host: hostOfClient(clientId),
      redirectHost: hostOfRedirect(textOf(params['redirect_uri'])),
      loopbackOnly: (client.redirectUris ?? []).every(staysOnOwnMachine),
    },
    scopes: scopesOf(params),
  };
}

/**
 * Makes the grant in one transaction under the merchant's identity lock, which every replacement of the key takes too. So either the
 * replacement sees this grant and revokes it, or this transaction sees the new key and refuses.
 */
async function allowInteraction(
  parts: InteractionDependencies,
  incoming: Incoming,
  { interaction: { uid, client }, proof }: { interaction: Interaction; proof: SignInProof },
): Promise<{ location: string }> {
  const { market, provider } = parts;
  const { merchantId, keyId, provedBy } = proof;
  return await market.database.transaction(async (tx) => {
    await lockIdentity(tx, merchantId);
    if ((await findCurrentKey(tx, merchantId)) !== keyId) {
      throw new Refusal('proof_missing', { detail: 'The key was replaced after you entered it or its pairing code.' });
    }
    return await finishInteraction(parts, tx, { incoming, uid }, async ({ params }) => {
      const accountId = String(merchantId);
      const clientId = textOf(params['client_id']);
      const scopes = scopesOf(params);
      const grant = new provider.Grant({ accountId, clientId });
      grant.addResourceScope(resourceOf(market.config), scopes.join(' '));
      const oauthGrant = await grant.save();
      await insertGrant(tx, {
        id: market.random.uuid(),
        grantedAt: new Date(market.clock.now()),
        ...{ merchantId, oauthGrant, clientId, provedBy, scopes },
        clientName: client.name,
        clientHost: hostOfClient(clientId),
        redirectHost: hostOfRedirect(textOf(params['redirect_uri'])),
      });
      return { login: { accountId, remember: false }, consent: { grantId: oauthGrant } };
    });
  });
}

/** Ends an attempt with the result of `decide`. Of several concurrent calls in any process, only one succeeds. */
async function finishInteraction(
  { market, provider, calls, artifacts }: InteractionDependencies,
  tx: Tx,
  { incoming, uid }: { incoming: Incoming; uid: string },
  decide: (attempt: Attempt) => Promise<InteractionResults>,
): Promise<{ location: string }> {
  return await artifacts.within(tx, async () => {
    const { isFirst } = await consumeArtifact(tx, 'Interaction', idHash(uid), new Date(market.clock.now()));
    const attempt = isFirst ? await findAttempt({ market, provider, calls, artifacts }, incoming, uid) : null;
    if (attempt === null) throw new Refusal('connection_closed');
    const result = await decide(attempt);
    const location = await calls.withRequest(incoming, (request, response) =>
      provider.interactionResult(request, response, result, { mergeWithLastSubmission: false }),
    );
    return { location };
  });
}

function scopesOf(params: Readonly<Record<string, unknown>>): Interaction['scopes'] {
  const requested = textOf(params['scope']).split(' ');
  return TOKEN_SCOPES.filter((scope) => requested.includes(scope));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
