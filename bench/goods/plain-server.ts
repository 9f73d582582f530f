import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { CHUNK_BYTES } from '../../src/market/goods/chunk-store.ts';
import { serveOrders } from '../child.ts';

export interface PlainOrder {
  databaseUrl: string;
  folder: string;
}

export interface PlainAnswer {
  url: string;
}

const CONNECTIONS = 16;

/** Keeps bytes under a number, without keys, hashes, checks or resumption. */
interface Keeping {
  write(name: string, request: IncomingMessage): Promise<void>;
  read(name: string, response: ServerResponse): Promise<void>;
}

/** Serves PUT and GET of `/chunks/N`, kept as chunks in PostgreSQL, and of `/files/N`, kept as files. */
async function serve({ databaseUrl, folder }: PlainOrder): Promise<PlainAnswer> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: CONNECTIONS });
  await pool.query(`
    create table if not exists plain_chunks (name text, start bigint, content bytea, primary key (name, start));
    alter table plain_chunks alter column content set storage external`);
  await mkdir(folder, { recursive: true });
  const keepings: Readonly<Record<string, Keeping>> = { chunks: inDatabase(pool), files: inFolder(folder) };
  const server = createServer((request, response) => {
    const [, kind = '', name = ''] = (request.url ?? '').split('/');
    const keeping = keepings[kind];
    if (keeping === undefined) return void response.writeHead(404).end();
    const act =
      request.method === 'PUT'
        ? keeping.write(name, request).then(() => void response.writeHead(204).end())
        : keeping.read(name, response);
    act.catch((error: unknown) => response.destroy(error instanceof Error ? error : new Error(String(error))));
  });
  return await new Promise((resolve, reject) => {
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
      resolve({ url: `http://127.0.0.1:${address.port}` });
    });
  });
}

function inDatabase(pool: pg.Pool): Keeping {
  const insert = async (name: string, start: number, content: Buffer): Promise<void> => {
    const values = [name, start, content];
    await pool.query({ name: 'put', text: 'insert into plain_chunks values ($1, $2, $3)', values });
  };
  return {
    write: async (name, request) => {
      let start = 0;
      let pieces: Buffer[] = [];
      let length = 0;
      let storing: Promise<void> = Promise.resolve();
      const store = async (): Promise<void> => {
        const chunk = Buffer.concat(pieces, length);
        pieces = [];
        length = 0;
        await storing;
        storing = insert(name, start, chunk);
        start += chunk.length;
      };
      for await (const piece of request as AsyncIterable<Buffer>) {
        pieces.push(piece);
        length += piece.length;
        if (length >= CHUNK_BYTES) await store();
      }
      if (length > 0) await store();
      await storing;
    },
    read: async (name, response) => {
      const { rows } = await pool.query<{ start: string }>({
        ...{ name: 'starts', text: 'select start from plain_chunks where name = $1 order by start' },
        values: [name],
      });
      for (const { start } of rows) {
        const chunk = await pool.query<{ content: Buffer }>({
          ...{ name: 'get', text: 'select content from plain_chunks where name = $1 and start = $2' },
          values: [name, start],
        });
        const bytes = chunk.rows[0]?.content ?? Buffer.alloc(0);
        if (!response.write(bytes)) await new Promise<void>((resolve) => response.once('drain', resolve));
      }
      response.end();
    },
  };
}

function inFolder(folder: string): Keeping {
  return {
    write: (name, request) => pipeline(request, createWriteStream(join(folder, name))),
    read: (name, response) => pipeline(createReadStream(join(folder, name)), response),
  };
}

serveOrders<PlainOrder, PlainAnswer>(serve);
