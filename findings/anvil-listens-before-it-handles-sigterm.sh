#!/usr/bin/env bash
# anvil 1.7.1 prints "Listening on ..." and answers requests before it handles SIGTERM. A stop in that moment ends it by the signal, and
# the file of --dump-state is never written. A stop once SIGTERM is caught exits 0 and writes the file each time.
#
# Seen on Linux x64 with @foundry-rs/anvil-linux-amd64 1.7.1 and Node 24: 52 of 100 stops at the first "Listening" left a file.
# Whoever starts anvil with --dump-state should wait until SIGTERM is caught (bit 14 of SigCgt in /proc/PID/status).
#
# Needs npm, a network, Node 20 or newer, and Linux. Exits 1 when anvil no longer behaves so.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund @foundry-rs/anvil-linux-amd64@1.7.1 >/dev/null
node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil --version | head -n 1

cat >stop.mjs <<'JS'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';

const TRIES = 100;
const SIGTERM_BIT = 1n << 14n;
const options = ['--host', '127.0.0.1', '--port', '0', '--dump-state', 'state.json'];

function handlesSigterm(pid) {
  const [, caught = '0'] = /^SigCgt:\s+([0-9a-f]+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return (BigInt(`0x${caught}`) & SIGTERM_BIT) !== 0n;
}

async function writesState(waitsForHandler) {
  rmSync('state.json', { force: true });
  const child = spawn('node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil', options, { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'exit');
  for await (const text of child.stdout) if (String(text).includes('Listening on')) break;
  while (waitsForHandler && !handlesSigterm(child.pid)) await new Promise((resolve) => setTimeout(resolve, 1));
  child.kill('SIGTERM');
  await ended;
  return existsSync('state.json');
}

const counts = { atListening: 0, onceHandled: 0 };
for (let n = 0; n < TRIES; n += 1) {
  if (await writesState(false)) counts.atListening += 1;
  if (await writesState(true)) counts.onceHandled += 1;
}
console.log(`state written after a stop at "Listening": ${counts.atListening} of ${TRIES}`);
console.log(`state written after a stop once SIGTERM is caught: ${counts.onceHandled} of ${TRIES}`);
process.exitCode = counts.atListening < TRIES && counts.onceHandled === TRIES ? 0 : 1;
JS
node stop.mjs
