import type { Dirent } from 'node:fs';
import { chown, copyFile, lchown, lstat, mkdir, readdir, readlink, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectClient } from '../../src/platform/database/connection.ts';
import type { ServerUser } from '../../src/platform/database/embedded/server-user.ts';

/** The low-level way of a base backup, as PostgreSQL's documentation has it. */
export async function copyCluster(url: string, from: string, to: string, user: ServerUser | null): Promise<void> {
  const client = await connectClient({ url, applicationName: 'openaisle-test', statementTimeoutMs: 0 });
  try {
    await client.query("select pg_backup_start('copy', fast => true)");
    await copyFolder(from, to, user, (path) => LEFT_OUT.some((pattern) => pattern.test(path)));
    const { rows } = await client.query<{ labelfile: string }>(
      'select labelfile from pg_backup_stop(wait_for_archive => false)',
    );
    await writeFile(join(to, 'backup_label'), rows[0]?.labelfile ?? '', { mode: 0o600 });
    // The log of the time of the copy: all of it is there now.
    await copyFolder(join(from, 'pg_wal'), join(to, 'pg_wal'), user, () => false);
    // What was set by statement is of the server that was copied.
    await writeFile(join(to, 'postgresql.auto.conf'), '', { mode: 0o600 });
    for (const name of ['backup_label', 'postgresql.auto.conf'])
      if (user !== null) await chown(join(to, name), user.uid, user.gid);
  } finally {
    await client.end();
  }
}

/** What belongs to the running server alone. The folders themselves are needed. */
const LEFT_OUT = [
  /^\/postmaster\.(?:pid|opts)$/,
  /^\/(?:pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)\//,
  /\/pgsql_tmp|\/pg_internal\.init/,
];

async function copyFolder(
  from: string,
  to: string,
  user: ServerUser | null,
  isLeftOut: (path: string) => boolean,
  path = '',
): Promise<void> {
  await makeOwn(user, to + path);
  const copy = async (entry: Dirent): Promise<void> => {
    const inner = `${path}/${entry.name}`;
    if (isLeftOut(inner)) return;
    if (entry.isDirectory()) await copyFolder(from, to, user, isLeftOut, inner);
    else await copyEntry(from + inner, to + inner, user).catch(passWhenGone);
  };
  // At once: a process that is busy with something else would make each of the thousand files wait for its turn.
  await Promise.all((await readdir(from + path, { withFileTypes: true })).map(copy));
}

async function copyEntry(from: string, to: string, user: ServerUser | null): Promise<void> {
  if ((await lstat(from)).isSymbolicLink()) await symlink(await readlink(from), to);
  else await copyFile(from, to);
  if (user !== null) await lchown(to, user.uid, user.gid);
}

/** Files come and go under a server that works: the log knows what became of them. */
function passWhenGone(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
}

/** A folder that the server takes for its own. */
export async function makeOwn(user: ServerUser | null, path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  if (user !== null) await chown(path, user.uid, user.gid);
}
