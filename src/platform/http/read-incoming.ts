import type { FastifyRequest } from 'fastify';
import type { Exchange } from './exchanges.ts';
import type { Incoming } from './incoming.ts';
import { splitTarget } from './request-target.ts';

export function bytesOf(body: unknown): Uint8Array {
  return body instanceof Uint8Array ? body : new Uint8Array();
}

export function readIncoming(request: FastifyRequest, exchange: Exchange, clientNetwork: string): Incoming {
  return {
    method: request.method,
    target: splitTarget(request.raw.url ?? '/'),
    params: { ...(request.params as Record<string, string>) },
    headers: request.headers,
    rawHeaders: request.raw.rawHeaders,
    body: bytesOf(request.body),
    requestId: exchange.requestId,
    clientNetwork,
    signal: exchange.signal,
    notes: exchange.notes,
  };
}
