import { readdirSync } from 'node:fs';
import { posix, resolve } from 'node:path';

const LEFT_OUT = new Set(['node_modules', '.git', 'data', 'dist']);

/** Every file of the project, from its root: what is installed, built or run with is left out. */
export function listFiles(root: string, folder = ''): string[] {
  return readdirSync(resolve(root, folder), { withFileTypes: true })
    .filter(({ name }) => !LEFT_OUT.has(name) && !name.endsWith('.log'))
    .flatMap((entry) => {
      const path = posix.join(folder, entry.name);
      return entry.isDirectory() ? listFiles(root, path) : [path];
    });
}
