import { type IncomingMessage, request } from 'node:http';

export interface AskedFrom {
  method?: string;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
}

export interface AnswerFrom {
  status: number;
  headers: IncomingMessage['headers'];
  /** Empty where the answer was cut or is none. */
  text: string;
  bytes: number;
}

/** A request whose client has that address, one of 127.0.0.0/8: each of them is a network of its own. */
export function askFrom(
  address: string,
  url: string,
  { method = 'GET', body, headers }: AskedFrom = {},
): Promise<AnswerFrom> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? null : JSON.stringify(body);
    const sent = request(url, {
      method,
      localAddress: address,
      agent: false,
      headers: { ...headers, ...(text === null ? {} : { 'content-type': 'application/json' }) },
    });
    sent.once('error', reject);
    sent.once('response', (answer) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength;
        // Long ones are counted and not kept.
        if (bytes < 1_000_000) chunks.push(chunk);
      });
      answer.once('error', reject);
      answer.once('end', () => {
        const { statusCode = 0, headers: heads } = answer;
        resolve({ status: statusCode, headers: heads, text: Buffer.concat(chunks).toString('utf8'), bytes });
      });
    });
    sent.end(text ?? undefined);
  });
}

/** Listens to the log from that address; whatever comes is left alone. */
export function openStream(address: string, url: string): Promise<{ status: number; close(): void }> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/api/events/stream`, { localAddress: address, agent: false });
    sent.once('error', reject);
    sent.once('response', (answer) => {
      answer.on('error', () => {});
      answer.resume();
      resolve({ status: answer.statusCode ?? 0, close: () => void sent.destroy() });
    });
    sent.end();
  });
}
