import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodePaymentSignatureHeader } from '@x402/core/http';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import type { Environment } from '../../src/sdk/environment.ts';
import type { Authorization, Wallet } from '../../src/sdk/payments/payment-proof.ts';

export interface SeenRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: unknown;
}

/** `cut` closes the connection without an answer. A string body is sent unchanged. The `date` header is sent only if it is in `headers`. */
export type Reply = 'cut' | { status: number; headers?: Record<string, string>; body?: unknown };

export interface ScriptedMarket extends AsyncDisposable {
  baseUrl: string;
  seen: SeenRequest[];
}

/** Starts a remote server that gives the test's answers, whether honest or false, complete or broken. */
export async function startScriptedMarket(
  answer: (request: SeenRequest, index: number) => Reply,
): Promise<ScriptedMarket> {
  const seen: SeenRequest[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const { method = '', url = '', headers } = request;
      const body: unknown = text === '' ? undefined : JSON.parse(text);
      const record = { method, path: url, headers, body };
      const reply = answer(record, seen.push(record) - 1);
      if (reply === 'cut') {
        request.socket.destroy();
        return;
      }
      const raw = typeof reply.body === 'string';
      const type = raw ? 'text/html' : reply.status < 400 ? 'application/json' : 'application/problem+json';
      // Clients of these tests have their own clocks.
      response.sendDate = false;
      response.writeHead(reply.status, {
        'content-type': type,
        'x-request-id': `req-${seen.length}`,
        ...reply.headers,
      });
      response.end(raw ? reply.body : JSON.stringify(reply.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    seen,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Returns a clock that every sleep moves forward, so that twenty minutes pass at once. */
export function createTestTime(startMs = 1_800_000_000_000): Pick<Environment, 'now' | 'sleep'> & { slept: number[] } {
  let nowMs = startMs;
  const slept: number[] = [];
  return {
    slept,
    now: () => nowMs,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      slept.push(ms / 1_000);
      nowMs += ms;
    },
  };
}

export interface TestWallet extends Wallet {
  signed: number;
  /** Signed authorizations that could move money. */
  payments: Authorization[];
}

/** Creates a wallet that counts its signatures. */
export function createTestWallet(): TestWallet {
  const account = privateKeyToAccount(generatePrivateKey());
  const wallet: TestWallet = {
    address: account.address,
    signed: 0,
    payments: [],
    signTypedData: (typed) => {
      wallet.signed += 1;
      if (typed.message.value > 0n) wallet.payments.push(typed.message);
      return account.signTypedData(typed);
    },
  };
  return wallet;
}

/** Whether the request asks for goods without paying. */
export function collects({ body }: SeenRequest): boolean {
  return (body as { collect?: boolean } | undefined)?.collect === true;
}

/** Returns the nonce of a request's proof; null if it has none. */
export function nonceIn(request: SeenRequest): string | null {
  const header = request.headers['x-payment'] ?? request.headers['payment-signature'];
  if (typeof header !== 'string') return null;
  const { authorization } = decodePaymentSignatureHeader(header).payload as { authorization: { nonce: string } };
  return authorization.nonce;
}

/** Returns the distinct nonces of proofs that the market could settle. */
export function noncesToSettle(seen: readonly SeenRequest[]): Set<string> {
  const settling = seen.filter((request) => !collects(request));
  return new Set(settling.map(nonceIn).filter((nonce) => nonce !== null));
}
