import type { Inside, Mount } from '../../platform/http/mount.ts';
import type { Market, Merchant } from '../context.ts';
import type { Interactions } from './interaction.ts';
import type { Visitor } from './visitor.ts';

/** Reads a client's metadata document. Tests bring one of their own for addresses that exist elsewhere only. */
export type FetchDocument = (url: string, signal: AbortSignal) => Promise<Response>;

/** The authorization server behind /mcp/connect. */
export interface Connector {
  /** Its own addresses and the discovery documents. */
  mounts(inside: Inside<Merchant>): Mount[];
  interactions: Interactions;
  /** Whose token that is, and for here; null: nobody's, or no longer. */
  authenticate(token: string): Promise<Visitor | null>;
  /** A read of `me` was completed through this grant. */
  noteProven(visitor: Visitor): Promise<void>;
}

export interface ConnectorOptions {
  fetchDocument?: FetchDocument;
}

export function createConnector(_market: Market, _options: ConnectorOptions): Connector {
  // A stand-in until the authorization server is in this file: nobody is let in.
  const notBuilt = async (): Promise<never> => {
    throw new Error('not built');
  };
  return {
    mounts: () => [],
    interactions: { find: async () => null, allow: notBuilt, cancel: notBuilt },
    authenticate: async () => null,
    noteProven: notBuilt,
  };
}
