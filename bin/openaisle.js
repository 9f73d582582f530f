#!/usr/bin/env node
// A package holds the built form alone. A checkout is run from its sources by a Node that takes TypeScript as it stands, else built first.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const built = new URL('../dist/cli/main.js', import.meta.url);
const source = new URL('../src/cli/main.ts', import.meta.url);
// The project's own Node, which is a development dependency.
const ownNode = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url));
const OLDEST_FOR_SOURCE = 24;

if (!existsSync(source)) {
  await import(built.href);
} else if (Number(process.versions.node.split('.')[0]) >= OLDEST_FOR_SOURCE) {
  await import(source.href);
} else if (existsSync(ownNode)) {
  const { status } = spawnSync(ownNode, [fileURLToPath(source), ...process.argv.slice(2)], { stdio: 'inherit' });
  // Ended by a signal: whatever it had begun may have been carried out.
  process.exitCode = status ?? 3;
} else {
  await import('./build-dist.js');
  await import(built.href);
}
