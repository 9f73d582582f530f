import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { judgeMigrations } from './check-migrations.ts';
import { readMigrations } from './migration-files.ts';

/** The last migrations of before this check: databases have run them, and they stay as they are. */
const CHECKED_AFTER = { market: 13, city: 3 };

const folderOf = (site: string): string => fileURLToPath(new URL(`../../../../migrations/${site}`, import.meta.url));

test.each(Object.entries(CHECKED_AFTER))(
  'every later migration of the %s lets the code before it go on',
  async (site, last) => {
    const migrations = await readMigrations(folderOf(site));
    expect(migrations.length).toBeGreaterThanOrEqual(last);
    // One by one, as there may be a version between any two.
    const judged = migrations.slice(last).flatMap((migration) => judgeMigrations([migration]));
    const refused = judged.flatMap(({ name, statements }) =>
      statements.filter(({ verdict }) => verdict === 'refused').map(({ why, statement }) => [name, why, statement]),
    );
    expect(refused).toEqual([]);
  },
);

test('what would have stopped a running market is found in the migrations of before', async () => {
  const migrations = await readMigrations(folderOf('market'));
  const [history] = judgeMigrations(migrations.filter(({ number }) => number === 13));
  expect(history?.verdict).toBe('refused');
  expect(history?.statements.map(({ verdict }) => verdict)).toEqual([
    'refused', // a checked column
    'refused', // a trigger that is off
    'refused', // an update of all rows
    'refused',
    'refused', // an index while nothing can be written
    'look', // the trigger's function
  ]);
});
