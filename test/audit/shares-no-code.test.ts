import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listFiles } from '../support/source/open-sources.ts';

/** Allowed imports: Node.js, the database driver, and the audit's own files. */
const OWN = /^(?:node:[\w/]+|pg|\.{1,2}\/(?:public\/)?[\w-]+\.ts)$/;

test('the audit shares no code with the market', () => {
  const folder = import.meta.dirname;
  const sources = listFiles(folder).filter((name) => name.endsWith('.ts') && !/\.(?:heavy|test)\.ts$/.test(name));
  expect(sources).toContain('audit.ts');
  expect(sources).toContain('public/audit-market.ts');
  let count = 0;
  for (const name of sources) {
    const text = readFileSync(join(folder, name), 'utf8');
    const imported = [...text.matchAll(/^(?:import|export)\b[^']*?from '([^']+)'|\bimport\(([^)]*)\)/gm)];
    const foreign = imported.map(([, path, called]) => path ?? called ?? '').filter((path) => !OWN.test(path));
    expect(foreign, name).toEqual([]);
    count += imported.length;
  }
  expect(count).toBeGreaterThan(sources.length);
});
