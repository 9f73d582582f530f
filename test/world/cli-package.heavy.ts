import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { holdsSecret } from '../support/canary.ts';
import { testDatabase } from '../support/database.ts';
import { mainProcesses } from '../support/main-process.ts';
import { joining, modeOf, readStored } from '../support/run-cli.ts';
import { WIDE_LIMITS } from '../support/wide-limits.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const SLOW_MS = 600_000;
const exec = promisify(execFile);

const CONSUMER = `import { createClient } from 'openaisle';
import { MarketError } from 'openaisle/sdk/errors';
import { endpoints } from 'openaisle/contract';
const client = createClient({ baseUrl: 'http://127.0.0.1:1' });
const { body } = await client.getOfficialFacts();
export const treasury: string = body.treasury;
// @ts-expect-error a number is no text
export const wrong: string = body.listing_fee_usdc;
export const seen = [Object.keys(endpoints), MarketError];
`;

describe('the package', () => {
  const db = testDatabase();
  const markets = mainProcesses(db, 'describe');
  let folder = '';
  let market = '';

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'openaisle-package-'));
    const running = markets.start(await markets.onGivenDatabase({ OPENAISLE_LIMITS: WIDE_LIMITS }));
    await vi.waitUntil(() => running.lines('market_listening').length > 0, { timeout: 100_000, interval: 20 });
    market = running.url;
    await exec('npm', ['pack', '--pack-destination', folder], { cwd: ROOT });
    await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}');
    await install(folder);
  }, SLOW_MS);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const npx = async (...args: string[]): Promise<string> => {
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder, OPENAISLE_MARKET: market, npm_config_offline: 'true' };
    const { stdout, stderr } = await exec('npx', ['openaisle', ...args], { cwd: folder, env });
    expect(holdsSecret(stdout + stderr)).toBe(false);
    return stdout;
  };

  test('holds JavaScript and declarations, and neither tests nor sources', async () => {
    const installed = join(folder, 'node_modules', 'openaisle');
    const names = await readdir(installed, { recursive: true });
    expect(names).toContain(join('dist', 'cli', 'main.js'));
    expect(names).toContain(join('dist', 'sdk', 'client.d.ts'));
    expect(names).toContain(join('dist', 'market', 'main.js'));
    expect(names).toContain(join('migrations', 'market', '0001-merchants.sql'));
    expect(names.filter((name) => /\.test\.|(?<!\.d)\.ts$|^src|^test/.test(name))).toEqual([]);
  });

  test('is a command in an empty folder: a store is opened, and stands', { timeout: SLOW_MS }, async () => {
    expect(await npx('--help')).toMatch(/^ {2}whoami +/m);
    const joined: Record<string, unknown> = JSON.parse(await npx(...joining('packed'), '--json'));
    expect(joined).toMatchObject({ status: 'ok', handle: 'packed' });
    const file = String(joined['file']);
    expect([dirname(dirname(dirname(file))), await modeOf(file)]).toEqual([join(folder, '.config'), '0600']);
    expect((await readStored(file)).pending).toBeNull();
    expect(await npx('whoami')).toMatch(/^packed, merchant \d+ at /);
  });

  test('is a typed client for others', { timeout: SLOW_MS }, async () => {
    await writeFile(join(folder, 'consumer.ts'), CONSUMER);
    const options = ['--strict', '--module', 'nodenext', '--target', 'es2024', '--noEmit', '--skipLibCheck'];
    const tsc = join(ROOT, 'node_modules', '.bin', 'tsc');
    await exec(tsc, [...options, '--ignoreConfig', 'consumer.ts'], { cwd: folder });
  });
});

/** From what npm has kept; where it has not kept enough, what npm would do is done by hand with the project's own packages. */
async function install(folder: string): Promise<void> {
  const [tarball = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
  const options = ['--offline', '--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund'];
  try {
    await exec('npm', ['install', ...options, join(folder, tarball)], { cwd: folder });
  } catch {
    const modules = join(folder, 'node_modules');
    await rm(modules, { recursive: true, force: true });
    await mkdir(join(modules, '.bin'), { recursive: true });
    for (const name of await readdir(join(ROOT, 'node_modules'))) {
      if (!name.startsWith('.')) await symlink(join(ROOT, 'node_modules', name), join(modules, name));
    }
    await mkdir(join(modules, 'openaisle'));
    await exec('tar', ['-xzf', join(folder, tarball), '--strip-components=1', '-C', join(modules, 'openaisle')]);
    await symlink('../openaisle/bin/openaisle.js', join(modules, '.bin', 'openaisle'));
  }
}
