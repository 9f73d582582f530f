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
      /** A database of the server all test files share, for creating and dropping theirs. */
      adminUrl: string;
      /** Already migrated, to be copied. */
      template: string;
      /** Why there is no template; tests that need none still run. */
      templateError: string | null;
    };
  }
}

const MIGRATIONS = fileURLToPath(new URL('../../migrations/market', import.meta.url));

interface Server {
  adminUrl: string;
  stop(): Promise<void>;
}

/** DATABASE_URL names the server to test against (its user must be allowed to create databases); else one is started. */
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
    // Many tests set the clock of the market and not that of the server; `events-of-now.test.ts` looks at the rule itself.
    await onServer(url, 'alter table events disable trigger events_are_of_now');
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Test chains begin with this state, which saves each of them deploying USDC. Tests that need a chain say so themselves where none starts. */
async function saveChainState(stateFile: string): Promise<void> {
  const chain = await startTestChain({ stateFile }).catch(() => null);
  if (chain === null) return;
  await chain.stop();
  process.env[CHAIN_STATE] = stateFile;
}

/** Says what runs and for how long: nothing else is printed before the first file is done. */
function announce({ vitest }: TestProject): void {
  if (!process.env['npm_lifecycle_event']?.startsWith('test')) return;
  const names = vitest.projects.map(({ name }) => name);
  const suites = `The ${names.join(', ')} tests start PostgreSQL and local chains as they need them.`;
  const time = names.join() === 'quick' ? ' All of them take about 4 min on two cores.' : '';
  process.stdout.write(`${suites}${time}\n`);
}

/** Starts what all test files share, once per run, and takes it down again. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  announce(project);
  // Not NODE_COMPILE_CACHE itself: the workers of the tests would write there as they end.
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
