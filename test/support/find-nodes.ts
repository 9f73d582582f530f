import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

export interface FoundNode {
  folder: string;
  version: string;
  /** Whether this version is at least the given one, for example `satisfies(22, 13)`. */
  satisfies(major: number, minor: number): boolean;
}

/** Finds the project's Node, the machine's, and those in the folders of OPENAISLE_NODES. Each version appears once. */
export function findNodes(): FoundNode[] {
  const named = (process.env['OPENAISLE_NODES'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const folders = [dirname(process.execPath), ...named, ...ownPath()].filter((folder) =>
    existsSync(join(folder, 'node')),
  );
  const found = folders.map((folder) => {
    const version = execFileSync(join(folder, 'node'), ['--version'], { encoding: 'utf8' }).trim().slice(1);
    const [is = 0, part = 0] = version.split('.').map(Number);
    return {
      folder,
      version,
      satisfies: (major: number, minor: number) => is > major || (is === major && part >= minor),
    };
  });
  return found.filter(({ version }, index) => found.findIndex((one) => one.version === version) === index);
}

/** Matches environment variables that a machine may need to reach its package registry. */
const REACH = /^(?:NODE_EXTRA_CA_CERTS|SSL_CERT_(?:FILE|DIR)|(?:https?|no)_proxy)$/i;

/** Returns the environment in which a program and its children run on that Node. */
export function environmentOf({ folder }: FoundNode): Record<string, string> {
  const reach = Object.entries(process.env).flatMap(([name, value]) =>
    value !== undefined && REACH.test(name) ? [[name, value] as const] : [],
  );
  return {
    ...Object.fromEntries(reach),
    PATH: [folder, ...ownPath()].join(delimiter),
    HOME: process.env['HOME'] ?? '',
  };
}

/** Returns PATH without the project's Node, which npm scripts add. */
function ownPath(): string[] {
  return (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
}
