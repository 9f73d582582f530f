import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { worldStates } from './world-states.ts';

// Writes docs/world-states.md. With --check it writes nothing, and fails where the file is not what it would write.
const file = new URL('../../docs/world-states.md', import.meta.url);
const content = worldStates();

if ((await readFile(file, 'utf8').catch(() => null)) !== content) {
  if (process.argv.includes('--check')) {
    console.error(`${fileURLToPath(file)} is out of date: run npm run docs`);
    process.exitCode = 1;
  } else {
    await writeFile(file, content);
  }
}
