import { readdirSync } from 'node:fs';
import { posix, resolve } from 'node:path';
import type { Node, SourceFile } from 'typescript/unstable/ast';
import { createVirtualFileSystem } from 'typescript/unstable/fs';
import { API } from 'typescript/unstable/sync';

const LEFT_OUT = new Set(['node_modules', '.git', 'data', 'dist']);

/** Lists all files of the project, without dependencies, build output and tools' folders. */
export function listFiles(root: string, folder = ''): string[] {
  return readdirSync(resolve(root, folder), { withFileTypes: true })
    .filter(({ name }) => !LEFT_OUT.has(name) && !name.endsWith('.log'))
    .flatMap((entry) => {
      const path = posix.join(folder, entry.name);
      return entry.isDirectory() ? listFiles(root, path) : [path];
    });
}

export interface Source {
  /** Path relative to the project root, with forward slashes. */
  path: string;
  text: string;
  tree: SourceFile;
}

/** Opens every file that tsconfig.json includes. */
export function openSources(root: string): Source[] {
  return readSources(new API({ cwd: root }), root);
}

/** Like `openSources`, but for files that exist only in a test. Paths are relative to an imaginary project root. */
export function openTexts(files: Readonly<Record<string, string>>): Source[] {
  const root = '/texts';
  const config = JSON.stringify({ compilerOptions: { noLib: true, types: [] }, include: ['**/*.ts'] });
  const placed = Object.entries(files).map(([path, text]) => [`${root}/${path}`, text]);
  const fs = createVirtualFileSystem(Object.fromEntries([[`${root}/tsconfig.json`, config], ...placed]));
  return readSources(new API({ cwd: root, fs }), root);
}

function readSources(api: API, root: string): Source[] {
  try {
    const [project] = api.updateSnapshot({ openProjects: [`${root}/tsconfig.json`] }).getProjects();
    if (project === undefined) throw new Error(`no project in ${root}`);
    return project.rootFiles.map((name) => {
      const tree = project.program.getSourceFile(name);
      if (tree === undefined) throw new Error(`not parsed: ${name}`);
      return { path: name.slice(root.length + 1), text: tree.text, tree };
    });
  } finally {
    api.close();
  }
}

/** Yields all nodes below this one, in text order. */
export function* nodesOf(node: Node): Generator<Node> {
  const children: Node[] = [];
  node.forEachChild((child) => {
    children.push(child);
  });
  for (const child of children) {
    yield child;
    yield* nodesOf(child);
  }
}

/** Returns the line (from 1) of the node's first character that is not space or comment. */
export function lineOf(source: Source, node: Node): number {
  return lineAt(source, node.getStart(source.tree));
}

export function lineAt(source: Source, position: number): number {
  return source.tree.getLineAndCharacterOfPosition(position).line + 1;
}
