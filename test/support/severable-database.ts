import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Client } from 'pg';
import type { Database } from '../../src/platform/database/database.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';

export interface SeverableDatabase {
  database: Database;
  /** From now on the database does not answer: open connections break and new ones are refused. */
  sever(): Promise<void>;
  close(): Promise<void>;
}

/** Another way to the same database, over a wire that can be cut. */
export async function severableDatabase(url: string): Promise<SeverableDatabase> {
  const { host, port, user, password, database: name } = new Client({ connectionString: url });
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        near.destroy();
        far.destroy();
        sockets.delete(socket);
      });
    }
    near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = new URL('postgresql://127.0.0.1');
  address.port = String((server.address() as AddressInfo).port);
  address.username = encodeURIComponent(user ?? '');
  address.password = encodeURIComponent(typeof password === 'string' ? password : '');
  address.pathname = `/${name}`;
  const database = await openDatabase({ url: address.href, poolSize: 2, allowUnsafe: true });
  const sever = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  };
  return {
    database,
    sever,
    close: async () => {
      await database.close();
      await sever();
    },
  };
}
