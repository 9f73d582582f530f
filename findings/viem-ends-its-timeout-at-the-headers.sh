#!/usr/bin/env bash
# The `timeout` of viem 2.57.1's HTTP transport ends when the headers of an answer are there, and not with its body. A node that sends
# headers at once and its body slowly keeps a call open for as long as the body takes, and the answer is taken then. The same node is cut
# off in time when it is slow with its headers.
#
# Seen on Linux with Node 20: with a timeout of 1 s and a body after 3 s the call is answered after 3.0 s; with headers after 3 s it
# fails with TimeoutError after 1.0 s. A `fetchFn` that adds a signal of its own ends the body too.
#
# Needs npm, a network and Node 20 or newer. Exits 1 when viem no longer behaves so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent viem@2.57.1
cat >run.mjs <<'JS'
import { createServer } from 'node:http';
import { createPublicClient, http } from 'viem';

const ANSWER = JSON.stringify({ jsonrpc: '2.0', id: 1, result: '0x2105' });
const TIMEOUT_MS = 1_000;
const SLOW_MS = 3_000;

/** Asks a node that waits before its headers, or behind them. */
async function ask(waitsBefore) {
  const server = createServer((request, response) => {
    request.resume();
    const head = () => response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    if (!waitsBefore) head();
    setTimeout(() => {
      if (waitsBefore) head();
      response.end(ANSWER);
    }, SLOW_MS);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  const client = createPublicClient({ transport: http(url, { timeout: TIMEOUT_MS, retryCount: 0 }) });
  const begun = performance.now();
  const outcome = await client.getChainId().then(String, (error) => error.name);
  const seconds = (performance.now() - begun) / 1_000;
  server.closeAllConnections();
  server.close();
  return { outcome, seconds };
}

const headers = await ask(true);
const body = await ask(false);
console.log(`slow headers: ${headers.outcome} after ${headers.seconds.toFixed(1)} s`);
console.log(`slow body: ${body.outcome} after ${body.seconds.toFixed(1)} s`);
const isAsSeen = headers.outcome !== '8453' && headers.seconds < 2.5 && body.outcome === '8453' && body.seconds > 2.5;
process.exit(isAsSeen ? 0 : 1);
JS
node run.mjs
