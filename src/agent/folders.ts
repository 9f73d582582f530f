import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

export type Env = Readonly<Record<string, string | undefined>>;

/** Returns the folder of wallet, policy and merchants: OPENAISLE_HOME, else `openaisle` under XDG_CONFIG_HOME or `~/.config`. */
export function configFolder(env: Env): string {
  return ownHome(env) ?? join(xdgFolder(env, 'XDG_CONFIG_HOME', '.config'), 'openaisle');
}

/** Returns the folder of books and goods: OPENAISLE_HOME, else `openaisle` under XDG_DATA_HOME or `~/.local/share`. */
export function dataFolder(env: Env): string {
  return ownHome(env) ?? join(xdgFolder(env, 'XDG_DATA_HOME', '.local', 'share'), 'openaisle');
}

/** Returns OPENAISLE_HOME, or null if it is not set. It keeps everything in one folder, for machines with several agents. */
function ownHome(env: Env): string | null {
  const home = env['OPENAISLE_HOME'];
  return home === undefined || home === '' ? null : resolve(home);
}

// The XDG standard says to ignore relative paths.
function xdgFolder(env: Env, variable: string, ...usual: string[]): string {
  const path = env[variable];
  if (path !== undefined && isAbsolute(path)) return path;
  return join(homeFolder(env), ...usual);
}

/** Returns HOME if it is absolute, else the home folder known to the system. */
export function homeFolder(env: Env): string {
  const home = env['HOME'];
  return home !== undefined && isAbsolute(home) ? home : homedir();
}

/** Turns a market's address (host, port and path) into a folder name. */
export function folderNameOf(market: string): string {
  const { host, pathname } = new URL(market);
  return (host + (pathname === '/' ? '' : pathname)).replaceAll(/[^A-Za-z0-9.-]/g, '_');
}
