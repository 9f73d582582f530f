import { fileURLToPath } from 'node:url';

/** The folder of the tables that a city needs. */
export const MIGRATIONS = fileURLToPath(new URL('../../migrations/city', import.meta.url));
