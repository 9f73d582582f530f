import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readGitCommit } from './config.ts';

const COMMIT = 'a'.repeat(40);

function folder(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'git-commit-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

describe('readGitCommit', () => {
  it.each([
    ['a branch', { '.git/HEAD': 'ref: refs/heads/main\n', '.git/refs/heads/main': `${COMMIT}\n` }],
    [
      'a packed branch',
      { '.git/HEAD': 'ref: refs/heads/x/y\n', '.git/packed-refs': `# pack\n${COMMIT} refs/heads/x/y\n` },
    ],
    ['no branch', { '.git/HEAD': `${COMMIT}\n` }],
    [
      'a worktree',
      {
        '.git': 'gitdir: main/.git/worktrees/w\n',
        'main/.git/worktrees/w/HEAD': 'ref: refs/heads/w\n',
        'main/.git/worktrees/w/commondir': '../..\n',
        'main/.git/refs/heads/w': `${COMMIT}\n`,
      },
    ],
  ])('reads the commit of %s', (_name, files) => {
    expect(readGitCommit(folder(files))).toBe(COMMIT);
  });

  it.each([
    ['no git', { 'README.md': '' }],
    ['a branch without commits', { '.git/HEAD': 'ref: refs/heads/main\n' }],
    ['nonsense', { '.git/HEAD': 'nonsense\n' }],
    ['a ref that leaves the folder', { '.git/HEAD': 'ref: refs/../../secret\n', secret: 'word' }],
  ])('is null for %s', (_name, files) => {
    expect(readGitCommit(folder(files))).toBeNull();
  });
});
