import { chmod, chown, mkdtemp, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '../../is-missing.ts';
import type { Home } from './prepare-home.ts';
import { type Launch, runBinary } from './run-binary.ts';
import { SUPERUSER } from './superuser.ts';

/** Creates the cluster on the first start. Half-made ones of a start that was cut off are thrown away. */
export async function initCluster(home: Home, launch: Launch, major: string): Promise<void> {
  const found = await readFile(join(home.cluster, 'PG_VERSION'), 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw error;
  });
  if (found !== null) {
    if (found.trim() === major) return;
    throw new Error(
      `the database in ${home.cluster} has the format of PostgreSQL ${found.trim()} and the installed one is ${major}: ` +
        'install the packages it was made with, or move the data over with a dump',
    );
  }
  for (const name of await readdir(home.folder))
    if (name.startsWith('cluster-partial-')) await rm(join(home.folder, name), { recursive: true, force: true });
  const partial = await mkdtemp(join(home.folder, 'cluster-partial-'));
  await chmod(partial, 0o700);
  if (home.user !== null) await chown(partial, home.user.uid, home.user.gid);
  await runBinary(launch, 'initdb', [
    `--pgdata=${partial}`,
    `--username=${SUPERUSER}`,
    // Until `secureCluster` has set the password.
    '--auth-local=reject',
    '--auth-host=reject',
    '--encoding=UTF8',
    // The builtin provider sorts and folds case the same on every machine, whatever locales it has.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    '--data-checksums',
    '--no-instructions',
  ]);
  await rename(partial, home.cluster);
  // Without this a power cut could undo the name after rows were acknowledged, and the next start would find no cluster.
  const folder = await open(home.folder);
  await folder.sync();
  await folder.close();
}
