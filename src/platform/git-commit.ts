import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/** The commit that is checked out in a folder, null where there is none. Reads git's files; starts no process. */
export function readGitCommit(folder: string): string | null {
  const git = gitFolder(folder);
  const head = read(join(git, 'HEAD'));
  if (head === null) return null;
  const name = /^ref: (refs\/[\w./-]+)$/.exec(head)?.[1];
  const commit = name === undefined ? head : resolveRef(git, name);
  return commit !== null && COMMIT.test(commit) ? commit : null;
}

/** In a worktree `.git` is a file that says where. */
function gitFolder(folder: string): string {
  const path = join(folder, '.git');
  const elsewhere = /^gitdir: (.+)$/.exec(read(path) ?? '')?.[1];
  return elsewhere === undefined ? path : resolve(folder, elsewhere);
}

function resolveRef(git: string, name: string): string | null {
  const common = resolve(git, read(join(git, 'commondir')) ?? '.');
  for (const folder of new Set([git, common])) {
    const loose = read(join(folder, name));
    if (loose !== null) return loose;
  }
  const packed = read(join(common, 'packed-refs'))?.split('\n') ?? [];
  return packed.find((line) => line.endsWith(` ${name}`))?.split(' ')[0] ?? null;
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}
