import { Agent, type IncomingMessage, request } from 'node:http';

export interface Call {
  method: string;
  url: string;
  headers?: Readonly<Record<string, string | number>>;
  body?: Uint8Array;
}

export interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  /** Bytes of the body. The body itself is dropped, unless it is short. */
  bytes: number;
  text: string;
}

const LONGEST_TEXT = 65_536;
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** Sends one request and reads its answer without keeping it, so that the client costs little. */
export function send({ method, url, headers = {}, body }: Call): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request(url, { agent, method, headers: { ...headers, 'content-length': body?.length ?? 0 } });
    call.on('error', reject);
    call.on('response', (response) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      response.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes <= LONGEST_TEXT) pieces.push(piece);
      });
      response.on('error', reject);
      response.on('end', () => {
        const text = bytes <= LONGEST_TEXT ? Buffer.concat(pieces).toString('utf8') : '';
        resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes, text });
      });
    });
    call.end(body);
  });
}

/** Sends a request that must be answered with one of these statuses. */
export async function mustSend(call: Call, statuses: readonly number[]): Promise<Answer> {
  const answer = await send(call);
  if (statuses.includes(answer.status)) return answer;
  throw new Error(`${call.method} ${call.url} was answered ${answer.status}: ${answer.text.slice(0, 500)}`);
}

export function closeConnections(): void {
  agent.destroy();
}
