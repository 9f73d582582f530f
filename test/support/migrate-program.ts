import { migrate } from '../../src/platform/database/migrate.ts';

/** Migrates a database as a start does. Tests kill it meanwhile. */
await migrate(process.argv[2] ?? '', process.argv[3] ?? '');
