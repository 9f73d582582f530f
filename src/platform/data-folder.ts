import { once } from 'node:events';
import { rm, stat } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ANSWER_MS = 1_000;
const ATTEMPTS = 5;

/**
 * Makes this process the only owner of a folder. The lock is a listening socket named after the folder's identity: the
 * kernel lets one process have the name and frees it when that process dies, however it dies. So there is no stale lock
 * to judge. It does not reach across machines, nor across containers with networks of their own.
 */
export async function lockDataFolder(folder: string, shownAs: string): Promise<{ release(): Promise<void> }> {
  const path = await socketPath(folder);
  for (let attempt = 1; ; attempt += 1) {
    const server = await listen(path);
    if (server !== null)
      return {
        release: async () => {
          server.close();
          await once(server, 'close');
        },
      };
    const owner = await askOwner(path);
    if (owner !== 'gone' || attempt === ATTEMPTS)
      throw new Error(`the data folder ${shownAs} is in use by process ${owner}: stop it, or use another folder`);
    if (!path.startsWith('\0')) await rm(path, { force: true });
  }
}

async function socketPath(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder, { bigint: true });
  const name = `openaisle-data-${dev}-${ino}`;
  // Linux has names outside of the file system; elsewhere a socket file is left behind by a killed process.
  return process.platform === 'linux' ? `\0${name}` : join(tmpdir(), `${name}.sock`);
}

/** Null when another process has the name. */
async function listen(path: string): Promise<Server | null> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.end(String(process.pid));
  });
  server.unref();
  server.listen({ path, exclusive: true });
  try {
    await once(server, 'listening');
    return server;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return null;
    throw error;
  }
}

/** The owner's process id, as the owner says it; `gone` when no process listens any more. */
function askOwner(path: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ path, timeout: ANSWER_MS });
    let said = '';
    socket.setEncoding('utf8');
    socket.on('data', (text) => {
      said += String(text);
    });
    socket.on('end', () => resolve(said));
    socket.on('error', () => resolve('gone'));
    socket.on('timeout', () => {
      socket.destroy();
      resolve('(it does not answer)');
    });
  });
}

/** Whether a file operation failed because there is nothing at that path. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
