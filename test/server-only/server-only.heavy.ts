import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environmentOf, type FoundNode, findNodes } from '../support/find-nodes.ts';
import { joinMarket } from '../support/market-world.ts';
import { startMarketBy, tradeOf } from '../upgrade/market-of.ts';
import { openUpgradeStage } from '../upgrade/stage.ts';

const exec = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../..');
/** Files of a server installation. npm adds the packages. */
const PARTS = ['package.json', 'package-lock.json', '.npmrc', 'bin', 'src', 'migrations', 'deploy'];
const PRICE = 2_500_000n;
const SLOW_MS = 240_000;

const NODES = findNodes();
const serves = (node: FoundNode): boolean => node.satisfies(22, 13);

let server: Awaited<ReturnType<typeof installServer>>;
beforeAll(async () => {
  server = await installServer();
});
afterAll(() => server?.remove());

test('an installation without development dependencies has no tools and no Node', () => {
  const packages = ['fastify', 'node', 'vitest', 'rolldown'];
  const there = packages.filter((name) => existsSync(join(server.folder, 'node_modules', name)));
  expect(there).toEqual(['fastify']);
});

describe.each(NODES.filter(serves))('on Node $version', (node) => {
  test('npm start builds, sells and draws, with two web processes; a second start finds it built', {
    timeout: SLOW_MS,
  }, async () => {
    const stage = await openUpgradeStage();
    try {
      const environment = { ...stage.environment, ...environmentOf(node), OPENAISLE_WORKERS: '2' };
      const npm = { command: 'npm', args: ['start', '--silent'], cwd: server.folder };
      await rm(join(server.folder, 'dist'), { recursive: true, force: true });
      const migrated = await exec('npm', ['run', '--silent', 'migrate', '--', '--json'], {
        cwd: server.folder,
        env: environment,
      });
      expect(JSON.parse(migrated.stdout).applied[0]).toBe('0001-merchants');
      expect(migrated.stderr).not.toMatch(/warning/i);
      const [keeper, buyer] = [await joinMarket(stage.db, 'the-keeper'), await joinMarket(stage.db, 'buyer-one')];
      const market = await startMarketBy(npm, environment);
      try {
        const trade = tradeOf(market, stage.chain);
        const listed = await trade.listFree(keeper);
        expect(listed.status).toBe(201);
        const id = Number(listed.body['listing_id']);
        expect((await trade.beginPurchase(buyer, id, PRICE)).status).toBe(202);
        expect((await trade.collect(buyer, id)).body['artifact']).toMatch(/^goods \d+ of an upgrade$/);
        const picture = await fetch(`${market.url}/pictures/listing/${id}.png`);
        expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/png']);
        const page = await fetch(`${market.url}/listing/${id}`, { headers: { accept: 'text/html' } });
        const scripts = [...(await page.text()).matchAll(/(?:src|href)="(\/[^"]+\.(?:js|css|woff2))"/g)];
        expect(scripts.length).toBeGreaterThan(2);
        for (const [, path = ''] of scripts)
          expect([path, (await fetch(market.url + path)).status]).toEqual([path, 200]);
      } finally {
        await market.stop();
      }
      const again = await startMarketBy(npm, environment);
      expect((await again.ask('GET', '/readyz')).status).toBe(200);
      await again.stop();
    } finally {
      await stage.stop();
    }
  });
});

describe.each(NODES.filter((node) => !serves(node)))('on Node $version', (node) => {
  test('npm start ends at once and names the versions that it needs', async () => {
    await rm(join(server.folder, 'dist'), { recursive: true, force: true });
    const refused = await exec('npm', ['start', '--silent'], { cwd: server.folder, env: environmentOf(node) }).catch(
      (error: { code: number; stderr: string }) => error,
    );
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('needs Node 22') });
    expect(refused.stderr).toContain(`this is Node ${node.version}`);
    expect(existsSync(join(server.folder, 'dist'))).toBe(false);
  });
});

interface Locked {
  dev?: true;
  os?: string[];
}

/** Installs these sources in a new folder, as `npm install --omit=dev` would. */
async function installServer(): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-server-'));
  for (const part of PARTS) await cp(join(ROOT, part), join(folder, part), { recursive: true });
  try {
    // Use npm's cache, filled by the project's own installation.
    await exec('npm', ['install', '--omit=dev', '--offline'], { cwd: folder });
  } catch {
    await rm(join(folder, 'node_modules'), { recursive: true, force: true });
    await copyPackages(folder);
  }
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Copies the project's packages that the lock file does not mark as development dependencies. */
async function copyPackages(folder: string): Promise<void> {
  const lock: { packages: Record<string, Locked> } = JSON.parse(
    await readFile(join(ROOT, 'package-lock.json'), 'utf8'),
  );
  for (const [path, { dev, os }] of Object.entries(lock.packages)) {
    if (path === '' || dev === true || (os !== undefined && !os.includes(process.platform))) continue;
    const to = join(folder, path);
    await mkdir(dirname(to), { recursive: true });
    await exec('cp', ['-R', join(ROOT, path), to]).catch((error: unknown) => {
      // Packages for other platforms are not installed here.
      if (os === undefined) throw error;
    });
  }
}
