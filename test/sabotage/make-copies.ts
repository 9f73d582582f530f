import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Sabotage, withBug } from './sabotage.ts';

/** Parts of the checkout that tests of the money core need. */
const COPIED = ['src', 'test', 'migrations', 'deploy', 'package.json', 'tsconfig.json', 'vitest.config.ts'];

export interface Copies {
  /** Folder with the checkout as it was at the start of the program, whatever is edited meanwhile. */
  plain: string;
  /** Makes a copy with the bug. Null if the text to replace is gone. */
  sabotaged(sabotage: Sabotage): Promise<string | null>;
  drop(folder: string): Promise<void>;
  dropAll(): Promise<void>;
}

export async function makeCopies(root: string): Promise<Copies> {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-sabotage-'));
  const drop = (path: string): Promise<void> => rm(path, { recursive: true, force: true });
  const copy = async (from: string, name: string): Promise<string> => {
    const to = join(folder, name);
    await mkdir(to);
    for (const entry of COPIED) await cp(join(from, entry), join(to, entry), { recursive: true });
    await symlink(join(root, 'node_modules'), join(to, 'node_modules'));
    return to;
  };
  const plain = await copy(root, 'plain');
  return {
    plain,
    sabotaged: async (sabotage) => {
      const made = await copy(plain, sabotage.name);
      for (const edit of sabotage.edits) {
        const path = join(made, edit.file);
        const bad = withBug(await readFile(path, 'utf8'), edit);
        if (bad === null) {
          await drop(made);
          return null;
        }
        await writeFile(path, bad);
      }
      return made;
    },
    drop,
    dropAll: () => drop(folder),
  };
}
