import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createClient } from '../sdk/client.ts';
import type { Cli } from './cli.ts';
import { mcp } from './commands/mcp.ts';

test('a folder to sell from that holds what is secret, or lies where that is, is refused before anything is served', async () => {
  const home = await mkdtemp(join(tmpdir(), 'openaisle-sold-'));
  try {
    const own = join(home, 'own');
    await mkdir(join(own, 'outbox'), { recursive: true });
    await mkdir(join(home, 'outbox'));
    await writeFile(join(home, 'outbox', 'agent.json'), '{}');
    await symlink(home, join(home, 'link'));
    const start = (sold: string, more: object = {}) => {
      const options = { market: 'https://market.example', 'sell-from': sold, ...more };
      const cli = { options, positionals: [], env: { HOME: home, OPENAISLE_HOME: own }, note: () => {} };
      const connect = (baseUrl: string) => createClient({ baseUrl });
      // If the folder isn't refused, the server starts and stops at once.
      return mcp.run({ ...cli, connect, interruption: () => AbortSignal.abort() } as unknown as Cli);
    };
    for (const [sold, more] of [
      [own, {}],
      [home, {}],
      [join(home, 'link'), {}],
      [join(own, 'outbox'), {}],
      [join(home, 'outbox'), { wallet: join(home, 'outbox', 'agent.json') }],
      [join(home, 'outbox'), { file: join(home, 'outbox', 'merchant.json') }],
    ] as const)
      await expect(start(sold, more), sold).rejects.toMatchObject({ parts: { reason: 'file_not_allowed' } });
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
