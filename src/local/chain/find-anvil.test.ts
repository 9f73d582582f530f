import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findAnvil } from './start-chain.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'openaisle-anvil-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const elsewhere = { platform: 'plan9', architecture: 'mips' };

test('what it finds can be run', () => {
  expect(execFileSync(findAnvil(), ['--version'], { encoding: 'utf8' })).toMatch(/anvil/i);
});

test('without a package for the platform the one on PATH is taken, if it can be run', () => {
  const program = join(folder, 'anvil');
  writeFileSync(program, '#!/bin/sh\n');
  expect(() => findAnvil({ ...elsewhere, path: `:/nowhere:${folder}` })).toThrow(/anvil/);
  chmodSync(program, 0o755);
  expect(findAnvil({ ...elsewhere, path: `:/nowhere:${folder}` })).toBe(program);
});

test('without any, the error names what is missing', () => {
  expect(() => findAnvil({ ...elsewhere, path: '/nowhere' })).toThrow('@foundry-rs/anvil-plan9-mips');
});
