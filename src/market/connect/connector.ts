import { fetchPublic, type PublicFetch } from '../../platform/http/fetch-public.ts';
import type { Inside, Mount } from '../../platform/http/mount.ts';
import type { Market, Merchant } from '../context.ts';
import { authenticateVisitor, noteProven } from './authenticate-visitor.ts';
import { createProviderCalls } from './call-provider.ts';
import { createDocuments } from './clients/read-documents.ts';
import { createArtifacts } from './create-adapter.ts';
import { createInteractions } from './create-interactions.ts';
import { createProvider } from './create-provider.ts';
import type { Interactions } from './interaction.ts';
import { mountAuthorization } from './mount-authorization.ts';
import { mountDiscovery } from './mount-discovery.ts';
import { mountRegistration } from './mount-registration.ts';
import { mountToken } from './mount-token.ts';
import { type ShowFault, showPlainly } from './show-fault.ts';
import type { Visitor } from './visitor.ts';

/** Reads a client's metadata document. Tests bring one of their own for addresses that exist elsewhere only. */
export type FetchDocument = PublicFetch;

/** The authorization server behind /mcp/connect. */
export interface Connector {
  /** Its own addresses and the discovery documents. */
  mounts(inside: Inside<Merchant>): Mount[];
  interactions: Interactions;
  /** The visitor whose token this is, if it is for this resource; null: the token is unknown, or no longer valid. */
  authenticate(token: string): Promise<Visitor | null>;
  /** A read of `me` was completed through this grant. */
  noteProven(visitor: Visitor): Promise<void>;
}

export interface ConnectorOptions {
  fetchDocument?: FetchDocument;
  /** How a person is told that a program cannot be connected; plain text when left out. */
  showFault?: ShowFault;
}

export function createConnector(market: Market, options: ConnectorOptions): Connector {
  const { config } = market;
  const artifacts = createArtifacts(market);
  const documents = createDocuments(market, options.fetchDocument ?? fetchPublic);
  const provider = createProvider(market, artifacts.adapter, documents);
  const calls = createProviderCalls(provider, config);
  return {
    mounts: ({ guard }) => [
      ...mountAuthorization(market, calls, options.showFault ?? showPlainly),
      ...mountToken(market, calls, guard),
      ...mountRegistration(market, calls, guard),
      ...mountDiscovery(config),
    ],
    interactions: createInteractions({ market, provider, calls, artifacts }),
    authenticate: (token) => authenticateVisitor(market, token),
    noteProven: (visitor) => noteProven(market, visitor),
  };
}
