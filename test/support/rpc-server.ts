import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RpcServer {
  url: string;
  /** Received bodies, in order. */
  received: unknown[];
  requests: IncomingMessage[];
  /** Sets the answer to all later requests. */
  answer(with_: (response: ServerResponse, body: unknown) => void): void;
  close(): Promise<void>;
}

/** A node that answers as the test decides. */
export async function startRpcServer(): Promise<RpcServer> {
  const received: unknown[] = [];
  const requests: IncomingMessage[] = [];
  let reply = (response: ServerResponse, _body: unknown): void => {
    response.end();
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
      received.push(body);
      requests.push(request);
      reply(response, body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    requests,
    answer: (with_) => {
      reply = with_;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function idOf(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'id' in body ? body.id : null;
}

export function resultIs(result: unknown): (response: ServerResponse, body: unknown) => void {
  const answerTo = (call: unknown) => ({ jsonrpc: '2.0', id: idOf(call), result });
  return (response, body) => {
    response.end(JSON.stringify(Array.isArray(body) ? body.map(answerTo) : answerTo(body)));
  };
}

/** Ways to answer a call: send a text, or cut the whole connection. */
export interface CallAnswer {
  end(text: string): unknown;
  destroy(): unknown;
}

/** Answers each call separately, even within a batch. */
export function eachCall(
  reply: (answer: CallAnswer, call: unknown) => void,
): (response: ServerResponse, body: unknown) => void {
  return (response, body) => {
    if (!Array.isArray(body)) return reply(response, body);
    const answers: string[] = [];
    const end = (text: string): void => {
      answers.push(text);
      if (answers.length === body.length) response.end(`[${answers.join(',')}]`);
    };
    for (const call of body) reply({ end, destroy: () => response.destroy() }, call);
  };
}
