import { createServer } from 'node:http';

/** Selector of `isBlacklisted(address)`, the only call made when goods are listed without a fee. */
const IS_BLACKLISTED = '0xfe575a87';
const NO = `0x${'0'.repeat(64)}`;

interface Call {
  id: unknown;
  method: string;
  params: { data?: string; input?: string }[];
}

function answerTo({ id, method, params: [call] }: Call) {
  const known = method === 'eth_call' && (call?.data ?? call?.input ?? '').startsWith(IS_BLACKLISTED);
  const answer = known ? { result: NO } : { error: { code: -32_601, message: 'this chain knows nothing' } };
  return { jsonrpc: '2.0', id, ...answer };
}

/** Starts a chain that reports no wallet as blocked and answers no other call. That suffices to list goods during reads. */
export function startQuietChain(): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const asked = JSON.parse(Buffer.concat(chunks).toString()) as Call | Call[];
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(Array.isArray(asked) ? asked.map(answerTo) : answerTo(asked)));
    });
  });
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') return reject(new Error('the chain listens on no port'));
      resolve({ url: `http://127.0.0.1:${address.port}`, stop });
    });
  });
}
