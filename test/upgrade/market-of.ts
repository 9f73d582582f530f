import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { watchText } from '../support/canary.ts';
import { freePort } from '../support/free-port.ts';
import { type Answer, type AskOptions, askMarket } from '../support/market-world.ts';

export interface UpgradedMarket {
  ask(method: string, path: string, asked?: AskOptions): Promise<Answer>;
  /** Its log so far. */
  lines: readonly string[];
  stop(): Promise<void>;
}

/** The market whose code is in that folder, as a process that listens. */
export async function startMarketOf(tree: string, environment: Record<string, string>): Promise<UpgradedMarket> {
  const port = await freePort();
  const child = spawn(process.execPath, [join(tree, 'src/market/main.ts')], {
    env: { ...environment, PATH: process.env['PATH'] ?? '', OPENAISLE_PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const ended = once(child, 'exit');
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      watchText('the log of a market', line);
      lines.push(line);
      if (line.includes('"event":"market_listening"')) resolve();
    });
    void ended.then(() => reject(new Error(`the market ended before it listened:\n${lines.join('\n')}`)));
  });
  return {
    lines,
    ask: (method, path, asked) => askMarket(`http://127.0.0.1:${port}`, method, path, asked),
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
