#!/usr/bin/env node
// The built form where there is one, as in an installed package; else the source, which needs a Node that takes TypeScript as it stands.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const built = new URL('../dist/cli/main.js', import.meta.url);
const source = new URL('../src/cli/main.ts', import.meta.url);
const OLDEST_FOR_SOURCE = 24;

if (existsSync(built)) {
  await import(built.href);
} else if (Number(process.versions.node.split('.')[0]) >= OLDEST_FOR_SOURCE) {
  await import(source.href);
} else {
  // The project's own Node, which is a development dependency.
  const node = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url));
  const { status, error } = spawnSync(node, [fileURLToPath(source), ...process.argv.slice(2)], { stdio: 'inherit' });
  if (error !== undefined) {
    process.stderr.write('openaisle: run npm run build first, or use Node 24 or newer\n');
    process.exitCode = 2;
  } else {
    // Ended by a signal: whatever it had begun may have been carried out.
    process.exitCode = status ?? 3;
  }
}
