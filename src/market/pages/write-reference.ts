import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { referenceFiles } from './reference-files.ts';

// Writes docs/reference. With --check it writes nothing, and fails where a file is not what it would write.
const folder = new URL('../../../docs/reference/', import.meta.url);
const check = process.argv.includes('--check');

for (const [name, content] of referenceFiles()) {
  const file = new URL(name, folder);
  const present = await readFile(file, 'utf8').catch(() => null);
  if (present === content) continue;
  if (check) {
    console.error(`${fileURLToPath(file)} is out of date: run npm run docs`);
    process.exitCode = 1;
  } else {
    await mkdir(folder, { recursive: true });
    await writeFile(file, content);
  }
}
