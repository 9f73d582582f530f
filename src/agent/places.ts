import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

export type Env = Readonly<Record<string, string | undefined>>;

/** `~/.config/openaisle`, or under XDG_CONFIG_HOME. */
export function configFolder(env: Env): string {
  return join(xdg(env, 'XDG_CONFIG_HOME', '.config'), 'openaisle');
}

/** `~/.local/share/openaisle`, or under XDG_DATA_HOME. */
export function dataFolder(env: Env): string {
  return join(xdg(env, 'XDG_DATA_HOME', '.local', 'share'), 'openaisle');
}

// The standard says to ignore a path that is not absolute.
function xdg(env: Env, variable: string, ...usual: string[]): string {
  const given = env[variable];
  if (given !== undefined && isAbsolute(given)) return given;
  const home = env['HOME'];
  return join(home !== undefined && isAbsolute(home) ? home : homedir(), ...usual);
}

/** A market's address as the name of one folder: host, port and path. */
export function folderNameOf(market: string): string {
  const { host, pathname } = new URL(market);
  return (host + (pathname === '/' ? '' : pathname)).replaceAll(/[^A-Za-z0-9.-]/g, '_');
}
