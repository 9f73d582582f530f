import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

export type Env = Readonly<Record<string, string | undefined>>;

/** Of wallet, policy and merchants: OPENAISLE_HOME, or `~/.config/openaisle`, or under XDG_CONFIG_HOME. */
export function configFolder(env: Env): string {
  const home = ownHome(env);
  if (home !== null) return home;
  return join(xdgFolder(env, 'XDG_CONFIG_HOME', '.config'), 'openaisle');
}

/** Of books and goods: OPENAISLE_HOME, or `~/.local/share/openaisle`, or under XDG_DATA_HOME. */
export function dataFolder(env: Env): string {
  const home = ownHome(env);
  if (home !== null) return home;
  return join(xdgFolder(env, 'XDG_DATA_HOME', '.local', 'share'), 'openaisle');
}

/** Everything in one folder, for one agent of several on a machine. Null where it is not set. */
function ownHome(env: Env): string | null {
  const home = env['OPENAISLE_HOME'];
  return home === undefined || home === '' ? null : resolve(home);
}

// The standard says to ignore a path that is not absolute.
function xdgFolder(env: Env, variable: string, ...usual: string[]): string {
  const given = env[variable];
  if (given !== undefined && isAbsolute(given)) return given;
  return join(homeFolder(env), ...usual);
}

/** Returns this user's home: HOME, where it is a whole path, else the one that the system names. */
export function homeFolder(env: Env): string {
  const home = env['HOME'];
  return home !== undefined && isAbsolute(home) ? home : homedir();
}

/** A market's address as the name of one folder: host, port and path. */
export function folderNameOf(market: string): string {
  const { host, pathname } = new URL(market);
  return (host + (pathname === '/' ? '' : pathname)).replaceAll(/[^A-Za-z0-9.-]/g, '_');
}
