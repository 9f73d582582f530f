import { request } from 'node:http';
import { watchAnswer } from './canary.ts';
import type { SentAnswer } from './refused.ts';

export interface Sending {
  key?: string;
  /** Sent as it is; anything but text or bytes as JSON. */
  body?: unknown;
  /** A list sends the header that many times. */
  headers?: Record<string, string | string[]>;
}

/** One request exactly as given: a client that mends nothing, joins no headers and follows nothing. */
export function send(url: string, method: string, path: string, sending: Sending = {}): Promise<SentAnswer> {
  const body = bytesOf(sending.body);
  const headers: Record<string, string | string[]> = { connection: 'close', ...sending.headers };
  if (sending.key !== undefined) headers['authorization'] = `Bearer ${sending.key}`;
  if (body !== null) {
    headers['content-type'] ??= 'application/json';
    headers['content-length'] ??= String(body.length);
  }
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const pairs = response.rawHeaders.flatMap((name, at, all): [string, string][] =>
          at % 2 === 0 ? [[name, all[at + 1] ?? '']] : [],
        );
        const text = Buffer.concat(chunks).toString('utf8');
        const answer = { status: response.statusCode ?? 0, headers: new Headers(pairs), text };
        try {
          watchAnswer({ method, path, asked: sending.body, ...answer });
          resolve(answer);
        } catch (error) {
          reject(error);
        }
      });
    });
    sent.on('error', reject);
    sent.end(body ?? undefined);
  });
}

function bytesOf(body: unknown): Buffer | null {
  if (body === undefined) return null;
  if (body instanceof Uint8Array) return Buffer.from(body);
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}
