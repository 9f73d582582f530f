import { Agent, createServer, get, type IncomingMessage } from 'node:http';
import { serveOrders } from '../child.ts';
import type { PageRequest } from './page-request.ts';

/** Paths to fetch from the market and serve from then on. */
export interface StaticOrder {
  marketUrl: string;
  requests: readonly PageRequest[];
}

export interface StaticAnswer {
  url: string;
  bytesPerAnswer: number;
}

interface Kept {
  status: number;
  /** Header names and values in turn, as the market sent them. */
  head: string[];
  body: Buffer;
}

/** Headers that both servers set anew for each answer. */
const OWN_HEADERS = new Set(['date', 'connection', 'keep-alive']);
const ASKED_AT_ONCE = 4;

let kept = new Map<string, Kept>();

/** The fastest that node:http can be: bytes in memory, found by the request's URL. */
const server = createServer((request, response) => {
  const found = kept.get(request.url ?? '');
  if (found === undefined) {
    response.writeHead(404, { 'content-length': 0 }).end();
    return;
  }
  response.writeHead(found.status, found.head);
  response.end(found.body);
});

async function fetchKept({ marketUrl, requests }: StaticOrder): Promise<StaticAnswer> {
  const agent = new Agent({ keepAlive: true, maxSockets: ASKED_AT_ONCE });
  const answers = new Map<string, Kept>();
  const waiting = [...new Map(requests.map((request) => [request.path, request])).values()];
  const run = async (): Promise<void> => {
    for (let request = waiting.pop(); request !== undefined; request = waiting.pop()) {
      answers.set(request.path, await fetchAnswer(marketUrl, request, agent));
    }
  };
  try {
    await Promise.all(Array.from({ length: ASKED_AT_ONCE }, run));
  } finally {
    agent.destroy();
  }
  kept = answers;
  const bytes = [...kept.values()].reduce((sum, { body }) => sum + body.length, 0);
  return { url: await listen(), bytesPerAnswer: bytes / kept.size };
}

function fetchAnswer(marketUrl: string, { path, headers }: PageRequest, agent: Agent): Promise<Kept> {
  return new Promise((resolve, reject) => {
    const read = (answer: IncomingMessage): void => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () => {
        const pairs = answer.rawHeaders.flatMap((name, index, all) =>
          index % 2 === 1 || OWN_HEADERS.has(name.toLowerCase()) ? [] : [name, all[index + 1] ?? ''],
        );
        const status = answer.statusCode ?? 0;
        const body = Buffer.concat(chunks);
        if (status !== 200 && status !== 304)
          reject(new Error(`${path} is answered ${status}: ${body.toString().slice(0, 300)}`));
        else resolve({ status, head: pairs, body });
      });
    };
    get(`${marketUrl}${path}`, { headers, agent }, read).on('error', reject);
  });
}

function listen(): Promise<string> {
  const urlNow = (): string | null => {
    const address = server.address();
    return address === null || typeof address === 'string' ? null : `http://127.0.0.1:${address.port}`;
  };
  const url = urlNow();
  if (url !== null) return Promise.resolve(url);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(urlNow() ?? ''));
  });
}

serveOrders(fetchKept);
