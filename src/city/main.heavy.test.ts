import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { compileCache } from '../../test/support/compile-cache.ts';
import { freePort } from '../../test/support/free-port.ts';

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));
const NO_SERVER = 'http://127.0.0.1:1';
let folder = '';
let child: ChildProcess | null = null;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-city-'));
});
afterEach(async () => {
  if (child !== null && child.exitCode === null && child.signalCode === null) {
    // SIGKILL would leave the embedded database running.
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  await rm(folder, { recursive: true, force: true });
});

const run = promisify(execFile);

function start(env: Record<string, string>): { said: string[]; exited: Promise<number | null> } {
  const own = spawn(process.execPath, [MAIN], { env: { PATH: process.env['PATH'] ?? '', ...compileCache(), ...env } });
  child = own;
  const said: string[] = [];
  for (const stream of [own.stdout, own.stderr])
    createInterface({ input: stream }).on('line', (line) => said.push(line));
  return { said, exited: once(own, 'close').then(() => own.exitCode) };
}

test('npm run city on its defaults brings a database and a pepper of its own, serves, and stops in order', async () => {
  const port = await freePort();
  const env = {
    CITY_PORT: String(port),
    CITY_DATA_DIR: folder,
    CITY_MARKET_URL: NO_SERVER,
    CITY_RPC_URLS: `${NO_SERVER}/hunter2`,
  };
  const { said, exited } = start(env);
  await expect.poll(() => said.some((line) => line.includes('"city_listening"')), { timeout: 60_000 }).toBe(true);
  const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
  expect(ready.status).toBe(200);
  await ready.body?.cancel();
  // Runs an operator command while the city runs.
  const command = (...args: string[]) => run(process.execPath, [MAIN, ...args], { env: { PATH: '', ...env } });
  const { stdout } = await command('recover', '--reason', 'a test', '--without-log-copy', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ status: 'recovered', acts: { lost: 0, put_back: 0 } });
  await expect(command('recover', '--without-log-copy')).rejects.toMatchObject({ code: 1 });
  // The city uses a folder next to the market's.
  expect(await readdir(folder)).toEqual(['city']);
  expect((await stat(join(folder, 'city', 'pepper'))).mode & 0o777).toBe(0o600);
  child?.kill('SIGTERM');
  expect(await exited).toBe(0);
  expect(said.join('\n')).not.toContain('hunter2');
});

test('a budget of connections that is too small ends the start with the number that would do', async () => {
  const env = {
    CITY_DATA_DIR: folder,
    CITY_MARKET_URL: NO_SERVER,
    CITY_RPC_URLS: NO_SERVER,
    CITY_DATABASE_CONNECTIONS: '5',
  };
  const { said, exited } = start({ CITY_PORT: String(await freePort()), ...env });
  expect(await exited).toBe(1);
  expect(said.join('\n')).toContain('CITY_DATABASE_CONNECTIONS must be at least 6 for a city');
});

test('a configuration that is not usable stops the start with names alone', async () => {
  const { said, exited } = start({ CITY_DATA_DIR: folder, CITY_NETWORK: 'hunter2' });
  expect(await exited).toBe(1);
  expect(said.join('\n')).toMatch(
    /CITY_MARKET_URL is required[\s\S]*CITY_NETWORK must be[\s\S]*CITY_RPC_URLS is required/,
  );
  expect(said.join('\n')).not.toContain('hunter2');
});
