import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Client } from 'pg';
import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { createTestDatabase } from '../support/database.ts';

/** A connection that can go silent without closing, as when a firewall drops its state. New connections work. */
async function silenceable(url: string) {
  const { host, port, user, password } = new Client({ connectionString: url });
  let silences = 0;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    const madeAt = silences;
    const pass = (to: Socket) => (data: Buffer) => {
      if (silences === madeAt) to.write(data);
    };
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
    }
    near.on('data', pass(far));
    far.on('data', pass(near));
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = new URL('postgresql://127.0.0.1');
  address.port = String((server.address() as AddressInfo).port);
  address.username = encodeURIComponent(user ?? '');
  address.password = encodeURIComponent(typeof password === 'string' ? password : '');
  address.pathname = new URL(url).pathname;
  return {
    url: address.href,
    silence: () => {
      silences += 1;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

it('a BEGIN that gets no answer does not put its dead connection back into the pool', async () => {
  const db = await createTestDatabase({ migrated: false });
  const wire = await silenceable(db.url);
  const database = await openDatabase({ url: wire.url, poolSize: 1, allowUnsafe: true, statementTimeoutMs: 200 });
  const work = () => database.transaction((tx) => tx.one(sql`select 1 as one`));
  await work();
  wire.silence();
  await expect(work()).rejects.toThrow('read timeout');
  const again = await work().catch((error: unknown) => String(error));
  wire.close();
  await database.close();
  await db.drop();
  expect(again).toEqual({ one: 1 });
}, 60_000);
