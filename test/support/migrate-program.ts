import { migrate } from '../../src/platform/database/migrate.ts';

/** Migrates a database as a start does. Made to be killed. */
await migrate(process.argv[2] ?? '', process.argv[3] ?? '');
