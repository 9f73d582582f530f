import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../..');

/** Last version before upgrades were tested. OPENAISLE_UPGRADE_FROM selects another commit. */
export const OLD_COMMIT = process.env['OPENAISLE_UPGRADE_FROM'] ?? '6569f5a71b70823b6a7189d58a486ad093cc6730';

/** Last version without compatible migrations. */
export const ROLLING_FROM = '346a69c76fd738fc192a95e27d6af178413875cb';

/** Last version that knows no uploads. */
export const BEFORE_UPLOADS = 'd44d8a15d290b841c3bd84563ecfd8c7f4dd5c30';

/** Checks out a commit into a folder that uses the packages installed here. */
export async function openOldTree(commit: string): Promise<{ folder: string; remove(): Promise<void> }> {
  const git = (...args: string[]) => run('git', ['-C', ROOT, ...args], { encoding: 'utf8' });
  const isHere = () => git('cat-file', '-e', `${commit}^{commit}`);
  // A shallow clone can still fetch this commit.
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

/**
 * A migration with everything that a compatible one may do, on tables that the previous version uses: a column, a table filled by a trigger
 * on that version's writes (security definer, because the market's role may have no rights on the new table yet), and an index built
 * concurrently.
 */
const MIGRATION = `-- compatible: older code
alter table listings add column upgrade_note text;
create table upgrade_notes (payment_id int8 not null, noted_at timestamptz not null default clock_timestamp());
create function note_upgrade() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into upgrade_notes (payment_id) values (new.id);
  return null;
end $$;
create trigger note_upgrade after insert on payments for each row execute function note_upgrade();

-- concurrently
create index concurrently payments_by_upgrade on payments (updated_at);
`;

/** Creates this version plus one migration, so that there is always something unknown to the previous version. */
export async function openNextTree(): Promise<{ folder: string; migration: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-next-'));
  for (const part of ['package.json', 'bin', 'src', 'migrations', 'deploy'])
    await cp(join(ROOT, part), join(folder, part), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const migrations = join(folder, 'migrations/market');
  const number = String((await readdir(migrations)).length + 1).padStart(4, '0');
  const migration = `${number}-of-an-upgrade`;
  await writeFile(join(migrations, `${migration}.sql`), MIGRATION);
  return { folder, migration, remove: () => rm(folder, { recursive: true, force: true }) };
}
