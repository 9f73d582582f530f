import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cliRuns, joining } from '../../test/world/run-cli.ts';

const cli = cliRuns();
let server: Server;
let market = '';
let asked = 0;

/** Starts a server that counts connections and closes them. */
beforeAll(async () => {
  server = createServer((request) => {
    asked += 1;
    request.socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  market = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server?.close());

test('where no file can be written the market is not asked', async () => {
  const inTheWay = join(cli.folder(), 'a-file');
  await writeFile(inTheWay, '');
  const places = [join(inTheWay, 'ink.json'), join(inTheWay, 'deep', 'ink.json')];
  // This folder exists, but nobody can create files in it.
  if (process.platform === 'linux') places.push('/proc/ink.json');
  for (const place of places) {
    const run = await cli.run([...joining('ink'), '--out', place, '--json'], { market });
    expect([run.code, run.json()]).toMatchObject([
      2,
      { reason: 'file_not_writable', next_step: expect.stringContaining('another folder') },
    ]);
    expect(run.stderr).toContain('isn’t writable');
  }
  expect(asked).toBe(0);
});

test('a join that fails leaves no folder behind', async () => {
  const before = await readdir(cli.folder());
  expect((await cli.run(joining('ink'), { market })).code).toBe(3);
  expect(asked).toBe(1);
  expect(await readdir(cli.folder())).toEqual(before);
});
