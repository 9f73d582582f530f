import sql from 'sql-template-tag';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';

/** Runs an embedded database and inserts rows one by one, printing each number once it is acknowledged. Tests kill it while it runs. */
const postgres = await startEmbeddedPostgres({ dataDir: process.argv[2] ?? '' });
const database = await openDatabase({ url: postgres.url });
await database.run(sql`create table if not exists written (n int8 primary key)`);
for (let n = 1n; ; n += 1n) {
  await database.run(sql`insert into written values (${n})`);
  process.stdout.write(`${n}\n`);
}
