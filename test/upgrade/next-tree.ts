import { cp, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/**
 * What a compatible migration may do, all of it on what the version before uses: a column, a table that a trigger fills with what that version
 * writes (under its owner's rights, as the role of the market may not have its own yet), an index that is made meanwhile.
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

/** This version with one migration more, so that there is always something that the one before does not know. */
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
