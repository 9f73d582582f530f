import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { rm, stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { wrongUse } from '../cli-error.ts';
import { isListening } from '../environment.ts';

const FORBIDDEN = new Set(['EPERM', 'EACCES', 'EAFNOSUPPORT', 'EPROTONOSUPPORT', 'ENOSYS']);

/**
 * Makes this process the only one that works on a file. The lock is a listening socket named after the file: the kernel lets one process
 * have the name and takes it back when that process dies, however it dies. It does not reach across machines and containers.
 */
export async function lockFile(path: string): Promise<{ release(): Promise<void> }> {
  const name = await socketName(path);
  for (let attempt = 1; ; attempt += 1) {
    const server = await listen(name);
    if (server === 'forbidden') return { release: async () => {} };
    if (server !== null)
      return {
        release: async () => {
          server.close();
          await once(server, 'close');
        },
      };
    if (attempt === 3 || (await isListening(name)))
      throw wrongUse(
        `Another openaisle is working on ${path}`,
        'Wait until it has ended, then run this again.',
        'file_in_use',
      );
    // Only names in the file system outlive their process.
    if (name.startsWith(tmpdir())) await rm(name, { force: true });
  }
}

async function socketName(path: string): Promise<string> {
  // The folder's identity, not its spelling: one file may be named in many ways.
  const { dev, ino } = await stat(dirname(path), { bigint: true });
  const of = createHash('sha256')
    .update(`${dev}-${ino}-${basename(path)}`)
    .digest('hex')
    .slice(0, 32);
  const name = `openaisle-${of}`;
  if (process.platform === 'linux') return `\0${name}`;
  return process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : join(tmpdir(), `${name}.sock`);
}

/** Null when another process has the name. Forbidden: a sandbox without local sockets; there the look before each write has to do. */
async function listen(name: string): Promise<Server | 'forbidden' | null> {
  const server = createServer((socket) => socket.destroy());
  server.unref();
  server.listen({ path: name, exclusive: true });
  try {
    await once(server, 'listening');
    return server;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === 'EADDRINUSE') return null;
    if (FORBIDDEN.has(code)) return 'forbidden';
    throw error;
  }
}
