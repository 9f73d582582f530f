import { chown, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { blockingFolder } from './server-user.ts';
import type { ServerUser } from './system-user.ts';

/** The kernel's limit for the path of a socket, without its closing zero. */
const MOST_BYTES = 103;
export const SOCKET_PORT = 5432;

/**
 * A new folder for the server's socket, which only the server's user (and root) may enter; who does is asked for the
 * password. A fresh name cannot be taken by another program beforehand.
 */
export async function makeSocketFolder(user: ServerUser | null): Promise<string> {
  for (const base of new Set([tmpdir(), '/tmp'])) {
    if (Buffer.byteLength(join(base, `openaisle-123456/.s.PGSQL.${SOCKET_PORT}.lock`)) > MOST_BYTES) continue;
    if (user !== null && (await blockingFolder(await realpath(base), user)) !== null) continue;
    const folder = await mkdtemp(join(base, 'openaisle-'));
    if (user !== null) await chown(folder, user.uid, user.gid);
    return folder;
  }
  throw new Error(`neither ${tmpdir()} nor /tmp can hold the database's socket: set TMPDIR to a short, passable path`);
}

export async function removeSocketFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}
