import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { mainProcesses } from '../../test/support/main-process.ts';
import { findEmbeddedPostgres } from '../platform/database/embedded.ts';
import { systemRandom } from '../platform/random.ts';
import { makeMerchantKey } from '../platform/secrets.ts';

const db = testDatabase();
const { environment, folder, onGivenDatabase, start } = mainProcesses(db);

describe('a stop', () => {
  it('by SIGTERM refuses new connections, answers what is in flight, and exits 0', async () => {
    const market = start(await onGivenDatabase());
    await market.logged('market_listening');
    const headers = { authorization: `Bearer ${makeMerchantKey(systemRandom, 'aisle')}` };
    let answer: Promise<Response> | undefined;
    await db.database.transaction(async (tx) => {
      await tx.run(sql`lock table merchant_keys in access exclusive mode`);
      answer = fetch(`${market.url}/api/me`, { headers });
      const waiting = sql`select pid from pg_locks where relation = 'merchant_keys'::regclass and not granted`;
      await expect.poll(async () => (await tx.rows(waiting)).length).toBeGreaterThan(0);
      market.child.kill('SIGTERM');
      await market.logged('stopping');
      await expect.poll(() => fetch(`${market.url}/healthz`).then(String, () => 'refused')).toBe('refused');
      expect(market.child.exitCode).toBeNull();
    });
    const answered = await answer;
    expect(answered?.status).toBe(401);
    expect(await answered?.json()).toMatchObject({ reason: 'key_invalid' });
    expect(await market.exited).toBe(0);
  });

  it('during the start ends as cleanly as one after it', async () => {
    const market = start(await environment());
    await market.logged('embedded_postgres');
    market.child.kill('SIGINT');
    expect(await market.exited).toBe(0);
    expect(await findEmbeddedPostgres(folder())).toBeNull();
  });
});

describe('the embedded database', () => {
  it('is stopped with the market, and found again with everything in it', async () => {
    const env = await environment();
    const first = start(env);
    await first.logged('market_listening');
    expect(await findEmbeddedPostgres(folder())).not.toBeNull();
    first.child.kill('SIGTERM');
    expect(await first.exited).toBe(0);
    expect(await findEmbeddedPostgres(folder())).toBeNull();
    const second = start(env);
    await second.logged('market_listening');
    expect(second.said.filter((line) => line.includes('"event":"migrated"'))).toEqual([]);
    second.child.kill('SIGTERM');
    expect(await second.exited).toBe(0);
  });

  it('takes the market with it when it ends by itself', async () => {
    const market = start(await environment());
    await market.logged('market_listening');
    const [pid] = (await readFile(join(folder(), 'postgres', 'cluster', 'postmaster.pid'), 'utf8')).split('\n');
    process.kill(Number(pid), 'SIGINT');
    await market.logged('database_ended');
    expect(await market.exited).toBe(1);
  });
});

describe('a start that cannot be', () => {
  it('names the variables at fault and no value', async () => {
    const secret = 'https://node.example/key-of-a-customer with space';
    const market = start(await environment({ OPENAISLE_RPC_URLS: secret, OPENAISLE_TREASURY: '' }));
    expect(await market.exited).toBe(1);
    const said = market.said.join('\n');
    expect(said).toContain('OPENAISLE_RPC_URLS must be');
    expect(said).toContain('OPENAISLE_TREASURY is required');
    expect(said).not.toContain('key-of-a-customer');
  });

  it('is stopped by a crash point that does not exist', async () => {
    const market = start(await environment({ OPENAISLE_TEST_CRASH_AT: 'after_lunch' }));
    expect(await market.exited).toBe(1);
    expect(market.said.join('\n')).toContain('OPENAISLE_TEST_CRASH_AT must be');
    expect(market.said.join('\n')).not.toContain('after_lunch');
  });

  it('warns loudly of a crash point that does', async () => {
    const market = start(await onGivenDatabase({ OPENAISLE_TEST_CRASH_AT: 'before_verify' }));
    expect(await market.logged('THIS_PROCESS_KILLS_ITSELF')).toContain('before_verify');
    await market.logged('market_listening');
  });

  it('on a port that is taken leaves no database behind', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    const market = start(await environment({ OPENAISLE_PORT: String(port) }));
    expect(await market.exited).toBe(1);
    expect(await market.logged('market_not_started')).toContain('EADDRINUSE');
    expect(await findEmbeddedPostgres(folder())).toBeNull();
    server.close();
  });
});
