import { AsyncLocalStorage } from 'node:async_hooks';
import { type Adapter, type AdapterFactory, type AdapterPayload, errors } from 'oidc-provider';
import { sha256 } from '../../platform/canonical-json.ts';
import type { Database, Queryable, Tx } from '../../platform/database/database.ts';
import type { Market } from '../context.ts';
import { PATHS } from './interaction.ts';
import {
  consumeArtifact,
  deleteArtifact,
  deleteOfGrant,
  endGrant,
  findArtifact,
  findOpenGrant,
  type StoredArtifact,
  saveArtifact,
  sweepArtifacts,
} from './store.ts';

/** Lifetime of a registered client that never finishes an authorization. */
const UNUSED_CLIENT_MS = 86_400_000;
/** How long expired rows are kept. */
const RETENTION_MS = 3_600_000;

export interface Artifacts {
  adapter: AdapterFactory;
  /** Runs `act` so that all writes of the authorization server go into `tx`. */
  within<T>(tx: Tx, act: () => Promise<T>): Promise<T>;
}

type AdapterContext = Pick<Market, 'clock' | 'config'> & { database: Database };

export function createArtifacts(market: AdapterContext): Artifacts {
  const open = new AsyncLocalStorage<Tx>();
  const queryable = (): Queryable => open.getStore() ?? market.database;
  return {
    adapter: (model) => (model === 'Session' ? NO_SESSIONS : createAdapter(market, model, queryable)),
    within: (tx, act) => open.run(tx, act),
  };
}

/** The hash under which a token or code is stored; the token or code itself never is. */
export function idHash(id: string): Buffer {
  return sha256(id);
}

const findNothing = async (): Promise<undefined> => undefined;
/** Stores no sessions, so every authorization asks the user again. */
const NO_SESSIONS: Adapter = {
  ...{ upsert: findNothing, find: findNothing, findByUid: findNothing, findByUserCode: findNothing },
  ...{ consume: findNothing, destroy: findNothing, revokeByGrantId: findNothing },
};

function createAdapter({ clock, config }: AdapterContext, model: string, queryable: () => Queryable): Adapter {
  const now = (): Date => new Date(clock.now());
  return {
    upsert: async (id, payload, expiresIn) => {
      const at = clock.now();
      const lifeMs = expiresIn === undefined ? defaultLifeMs(model) : expiresIn * 1_000;
      const expiresAt = lifeMs === null ? null : new Date(at + lifeMs);
      const artifact = { model, idHash: idHash(id), grantId: payload.grantId ?? null, payload: withoutId(payload) };
      await saveArtifact(queryable(), { ...artifact, createdAt: new Date(at), expiresAt });
      await sweepArtifacts(queryable(), new Date(at - RETENTION_MS));
    },
    find: async (id) => {
      const hash = idHash(id);
      const stored =
        model === 'Grant'
          ? await findOpenGrant(queryable(), { idHash: hash, grantId: id }, now())
          : await findArtifact(queryable(), model, hash, now());
      return stored === null ? undefined : restorePayload(model, id, stored, config.baseUrl);
    },
    // Needed only for sessions and device codes, which we do not have.
    findByUid: findNothing,
    findByUserCode: findNothing,
    consume: async (id) => {
      const { isFirst, grantId } = await consumeArtifact(queryable(), model, idHash(id), now());
      if (isFirst) return;
      // A concurrent request used the record first. Reuse of a refresh token counts as theft, so its grant ends. Reuse of a code does not,
      // because both requests have shown the same PKCE verifier.
      if (model === 'RefreshToken' && grantId !== null) {
        await endGrant(queryable(), { idHash: idHash(grantId), grantId }, now());
      }
      throw new errors.InvalidGrant(`${model} already used`);
    },
    destroy: async (id) => {
      if (model === 'Grant') return await endGrant(queryable(), { idHash: idHash(id), grantId: id }, now());
      await deleteArtifact(queryable(), model, idHash(id));
    },
    revokeByGrantId: async (grantId) => await deleteOfGrant(queryable(), model, grantId),
  };
}

function defaultLifeMs(model: string): number | null {
  return model === 'Client' ? UNUSED_CLIENT_MS : null;
}

/** Removes the id and the address that contains it, so that a reader of the table cannot use the row. */
function withoutId({ jti: _id, returnTo: _address, ...rest }: AdapterPayload): Record<string, unknown> {
  return rest;
}

function restorePayload(
  model: string,
  id: string,
  { payload, consumed_at: at }: StoredArtifact,
  baseUrl: string,
): AdapterPayload {
  return {
    ...payload,
    ...(model === 'Client' ? {} : { jti: id }),
    ...(model === 'Interaction' ? { returnTo: `${baseUrl}${PATHS.authorization}/${id}` } : {}),
    ...(at === null ? {} : { consumed: Math.floor(at.getTime() / 1_000) }),
  };
}
