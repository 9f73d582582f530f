import type { IncomingHttpHeaders } from 'node:http';
import type { Target } from './request-target.ts';

/** A request as the routes see it: read in full, nothing checked yet. */
export interface Incoming {
  method: string;
  target: Target;
  params: Readonly<Record<string, string>>;
  headers: IncomingHttpHeaders;
  rawHeaders: readonly string[];
  /** Empty when there is no body. */
  body: Uint8Array;
  requestId: string;
  clientNetwork: string;
  signal: AbortSignal;
  /** What the access log shall say about it. */
  notes: Record<string, unknown>;
}

/** What goes back, before the standing headers. */
export interface Outgoing {
  status: number;
  headers: Record<string, string>;
  body: string | Uint8Array;
}
