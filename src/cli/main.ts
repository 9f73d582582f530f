#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { run } from './run.ts';
import { openTerminal } from './terminal.ts';

// The relative path is the same in src, in dist and in the package.
const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const version = manifest !== null && typeof manifest === 'object' && 'version' in manifest ? manifest.version : '';

// A reader such as `head` may close the pipe early. That must not turn success into failure, but it ends endless output.
const outputClosed = new AbortController();
process.stdout.on('error', () => outputClosed.abort());
process.stderr.on('error', () => {});

process.exitCode = await run({
  argv: process.argv.slice(2),
  env: process.env,
  version: String(version),
  terminal: openTerminal(process),
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  // The first Ctrl-C asks the command to stop. The second ends the process.
  interruption: () => {
    const interrupted = new AbortController();
    process.once('SIGINT', () => interrupted.abort());
    return AbortSignal.any([interrupted.signal, outputClosed.signal]);
  },
});
