import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { watchText } from '../support/canary.ts';
import { freePort } from '../support/free-port.ts';
import { type Answer, type AskOptions, askMarket } from '../support/market-world.ts';

export interface UpgradedMarket {
  url: string;
  ask(method: string, path: string, asked?: AskOptions): Promise<Answer>;
  /** Its log so far. */
  lines: readonly string[];
  /** Answers what is in flight, and ends. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** How a market is started: a program of its own, or `npm start`, which hands no signals on. */
export interface StartCommand {
  command: string;
  args: readonly string[];
  cwd?: string;
}

/** The market whose code is in that folder, as a process that listens. */
export const startMarketOf = (tree: string, environment: Record<string, string>): Promise<UpgradedMarket> =>
  startMarketBy({ command: process.execPath, args: [join(tree, 'src/market/main.ts')] }, environment);

export async function startMarketBy(
  { command, args, cwd }: StartCommand,
  environment: Record<string, string>,
): Promise<UpgradedMarket> {
  const port = await freePort();
  const child = spawn(command, args, {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', ...environment, OPENAISLE_PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
    // A group of its own, which signals are sent to: npm and what it starts.
    detached: true,
  });
  const lines: string[] = [];
  const ended = once(child, 'close');
  const signal = async (name: NodeJS.Signals): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) process.kill(-child.pid, name);
    await ended;
  };
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      watchText('the log of a market', line);
      lines.push(line);
      if (line.includes('"event":"market_listening"')) resolve();
    });
    void ended.then(() => reject(new Error(`the market ended before it listened:\n${lines.join('\n')}`)));
  });
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    lines,
    ask: (method, path, asked) => askMarket(url, method, path, asked),
    stop: () => signal('SIGTERM'),
    kill: () => signal('SIGKILL'),
  };
}
