import { once } from 'node:events';
import { createServer } from 'node:net';

export interface Ports {
  market: number;
  facilitator: number;
  city: number;
  chain: number;
}

/** Four in a row: market, facilitator, city, chain. */
export function portsFrom(first: number): Ports {
  return { market: first, facilitator: first + 1, city: first + 2, chain: first + 3 };
}

/** Asked before anything is started: a server that finds its port taken says so late and in its own words. */
export async function checkPortsFree(ports: Ports): Promise<void> {
  for (const [name, port] of Object.entries(ports)) {
    if (await isFree(port)) continue;
    throw new Error(`Port ${port} (${name}) is in use: stop what listens there, or take others with --ports N.`);
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ port, host: '127.0.0.1', exclusive: true });
    await once(server, 'listening');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'EADDRINUSE' || error.code === 'EACCES'))
      return false;
    throw error;
  }
  server.close();
  await once(server, 'close');
  return true;
}
