import { migrate } from '../../src/platform/database/migrate.ts';

/** Migrates a database as a start does. Tests kill it while it runs. */
await migrate(process.argv[2] ?? '', process.argv[3] ?? '');
