import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The last version before upgrades were tested. Another one: OPENAISLE_UPGRADE_FROM. */
export const OLD_COMMIT = process.env['OPENAISLE_UPGRADE_FROM'] ?? '6569f5a71b70823b6a7189d58a486ad093cc6730';

/** The last version that knows no compatible migrations. */
export const ROLLING_FROM = '346a69c76fd738fc192a95e27d6af178413875cb';

/** The files of a commit in a folder of their own, which runs with the packages that are installed here. */
export async function openOldTree(commit: string): Promise<{ folder: string; remove(): Promise<void> }> {
  const git = (...args: string[]) => run('git', ['-C', ROOT, ...args], { encoding: 'utf8' });
  const isHere = () => git('cat-file', '-e', `${commit}^{commit}`);
  // A clone of the newest commits alone can still ask for this one.
  await isHere().catch(() => git('fetch', '--quiet', 'origin', commit).catch(() => {}));
  await isHere().catch((cause: unknown) => {
    throw new Error(
      `commit ${commit} is not in this clone, and the market that it had is what is upgraded: run "git fetch --unshallow", ` +
        `or "git fetch origin ${commit}", or name another commit in OPENAISLE_UPGRADE_FROM`,
      { cause },
    );
  });
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-old-'));
  const archive = join(folder, 'tree.tar');
  await git('archive', '--format=tar', `--output=${archive}`, commit);
  await run('tar', ['-xf', archive, '-C', folder]);
  await rm(archive);
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
