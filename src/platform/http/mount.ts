import type { SecretGuard } from '../secret-guard.ts';
import type { Incoming, Outgoing } from './incoming.ts';

/**
 * A route that reads its request itself: another protocol on the same server. Head and load are checked as for every route, what it
 * throws is answered like everything else; the guard over its body is its own duty.
 */
export interface Mount {
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
export interface InsideRequest {
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

/** What mounts may do inside the server they are mounted on. */
export interface Inside<Caller> {
  guard: SecretGuard;
  /**
   * Answers as the route would, refusals and failures included. `from` is the request on whose behalf it is asked; what is asked for has
   * passed the guard already. A known caller stands in for Authorization.
   */
  ask(request: InsideRequest, from: Incoming, caller?: Caller): Promise<Outgoing>;
  /** What was thrown, as the problem that the route would answer; notes and log included. */
  refuse(error: unknown, from: Incoming): Outgoing;
}
