import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { CHAIN_STATE, startTestChain } from './chain.ts';
import { COMPILED_FOLDER } from './compile-cache.ts';
import { onServer } from './run-postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    testPostgres: {
      /** Admin connection to the shared server, for creating and dropping databases. */
      adminUrl: string;
      /** A migrated database that tests copy. */
      template: string;
      /** Why there is no template. Null if there is one. Tests that do not need a template still run. */
      templateError: string | null;
    };
  }
}

const MIGRATIONS = fileURLToPath(new URL('../../migrations/market', import.meta.url));

interface Server {
  adminUrl: string;
  stop(): Promise<void>;
}

/** Uses the server in DATABASE_URL (its user must be able to create databases), or starts one. */
async function startServer(): Promise<Server> {
  const given = process.env['DATABASE_URL'];
  if (given !== undefined && given !== '') return { adminUrl: given, stop: async () => {} };
  const dataDir = await mkdtemp(join(tmpdir(), 'openaisle-test-'));
  const postgres = await startEmbeddedPostgres({ dataDir });
  return {
    adminUrl: postgres.url,
    stop: async () => {
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function migrateTemplate(url: string): Promise<string | null> {
  try {
    const files = await readdir(MIGRATIONS).catch(() => []);
    if (files.length > 0) await migrate(url, MIGRATIONS);
    // Disables the check of event times, because many tests move only the market's clock. `events-of-now.test.ts` checks the rule itself.
    await onServer(url, 'alter table events disable trigger events_are_of_now');
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Saves the initial state of test chains, so that none has to deploy USDC. Failures are ignored here; tests that need a chain report them.
 */
async function saveChainState(stateFile: string): Promise<void> {
  const chain = await startTestChain({ stateFile }).catch(() => null);
  if (chain === null) return;
  await chain.stop();
  process.env[CHAIN_STATE] = stateFile;
}

/** Prints the suites and how long the quick one takes, because nothing else appears until the first file is done. */
function announce({ vitest }: TestProject): void {
  if (!process.env['npm_lifecycle_event']?.startsWith('test')) return;
  const names = vitest.projects.map(({ name }) => name);
  const suites = `The ${names.join(', ')} tests start PostgreSQL and local chains as they need them.`;
  const time = names.join() === 'quick' ? ' All of them take about 4 min on two cores.' : '';
  process.stdout.write(`${suites}${time}\n`);
}

/** Starts everything that test files share, once per run, and stops it at the end. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  announce(project);
  // Do not set NODE_COMPILE_CACHE in this process, because test workers would inherit it and write to the cache as they exit.
  const compiled = await mkdtemp(join(tmpdir(), 'openaisle-compiled-'));
  process.env[COMPILED_FOLDER] = compiled;
  await saveChainState(join(compiled, 'chain.json'));
  const { adminUrl, stop } = await startServer();
  try {
    const template = `openaisle_template_${systemRandom.bytes(6).toString('hex')}`;
    await onServer(adminUrl, `create database ${template} encoding 'UTF8' template template0`);
    const templateUrl = new URL(adminUrl);
    templateUrl.pathname = `/${template}`;
    const templateError = await migrateTemplate(templateUrl.href);
    project.provide('testPostgres', { adminUrl, template, templateError });
    return async () => {
      await onServer(adminUrl, `drop database ${template} with (force)`).finally(stop);
      await rm(compiled, { recursive: true, force: true, maxRetries: 10 });
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
