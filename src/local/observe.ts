import { type Environment, systemEnvironment } from '../sdk/environment.ts';
import type { EventPrinter } from './tell.ts';

export interface Exchange {
  method: string;
  path: string;
  headers: Headers;
  status: number;
  text: string;
  body: Record<string, unknown>;
  answered: Headers;
  /** True if the request asked for goods without paying. */
  isCollecting: boolean;
}

export interface Observer {
  exchanges: Exchange[];
  environment: Pick<Environment, 'fetch'>;
}

/**
 * Forwards a client's requests and reports them with their status. If a repeated request is still pending with the same status, reports
 * only that it waits. Reports a secret only by the name of its header.
 */
export function observeRequests(tell: EventPrinter, site: 'market' | 'city' = 'market'): Observer {
  const exchanges: Exchange[] = [];
  return {
    exchanges,
    environment: {
      fetch: async (url, init) => {
        const { pathname, search } = new URL(url);
        const method = init.method ?? 'GET';
        const path = pathname + search;
        // A full hash would fill the line.
        const short = path.replace(/(0x[0-9a-f]{8})[0-9a-f]{50}/gi, '$1...');
        const label = site === 'city' ? `${short} (city)` : short;
        const headers = new Headers(init.headers);
        const sent = listSent(headers, init.body);
        const before = exchanges.at(-1);
        const isRepeat = before?.method === method && before.path === path && isPending(before.status);
        if (!isRepeat) tell({ kind: 'asking', method, path: label, sent });
        const response = await systemEnvironment.fetch(url, init);
        const text = await response.clone().text();
        const { status } = response;
        const isCollecting = sent.includes('collect: true');
        const answered = response.headers;
        const exchange = { method, path, headers, status, text, body: readBody(text), answered, isCollecting };
        exchanges.push(exchange);
        if (!isRepeat || status !== before.status)
          tell({ kind: 'request', method, path: label, sent, status, word: describeOutcome(exchange) });
        if (isPending(status)) tell({ kind: 'waiting', text: waitingText(exchange) });
        return response;
      },
    },
  };
}

function isPending(status: number): boolean {
  return status === 202 || status === 503;
}

const SECRET_HEADERS = {
  authorization: 'Authorization',
  'x-payment': 'X-PAYMENT',
  'payment-signature': 'PAYMENT-SIGNATURE',
  'x-delivery-token': 'X-Delivery-Token',
};

function listSent(headers: Headers, body: unknown): string[] {
  const names = Object.entries(SECRET_HEADERS).flatMap(([name, label]) => (headers.has(name) ? [label] : []));
  const fields = typeof body === 'string' ? readBody(body) : {};
  const action = ['action', 'collect'].flatMap((name) => (name in fields ? [`${name}: ${String(fields[name])}`] : []));
  return [...action, ...names];
}

function describeOutcome({ status, body }: Exchange): string {
  if (typeof body['reason'] === 'string') return body['reason'];
  return status === 202 || status === 200 ? String(body['status'] ?? '') : '';
}

interface SeenPayment {
  block_number?: unknown;
  finalized_head?: unknown;
}

function waitingText({ body }: Exchange): string {
  if ('offer' in body) return 'the thing stays where it is until the transfer is final';
  const payment = (body['payment'] ?? {}) as SeenPayment;
  const { block_number: block, finalized_head: head } = payment;
  if (typeof block !== 'number') return 'the transfer is in no block yet';
  if (typeof head !== 'number') return `the transfer is in block ${block}, which is not final yet`;
  const left = Math.max(0, block - head);
  const estimate = body['estimate_seconds'];
  const seconds = typeof estimate === 'number' ? `, about ${estimate} s` : '';
  return `the transfer is in block ${block}, final up to ${head}: ${left} block${left === 1 ? '' : 's'} to go${seconds}`;
}

function readBody(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
