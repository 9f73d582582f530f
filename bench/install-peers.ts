import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sha256 } from '../src/platform/canonical-json.ts';

export const PEERS = fileURLToPath(new URL('./peers/', import.meta.url));
/** Contains the digest of the installed lock file. It is inside the installation, so that both are deleted together. */
const INSTALLED = join(PEERS, 'node_modules', '.installed-lock');

/** Installs the stock seller's packages of this lock file unless present. They are never part of the market's own installation. */
export async function installPeers(tell: (line: string) => void): Promise<void> {
  const lock = sha256(await readFile(join(PEERS, 'package-lock.json'))).toString('hex');
  const before = await readFile(INSTALLED, 'utf8').catch(() => '');
  if (before === lock) return;
  tell('installing the stock seller: npm ci in bench/peers');
  await npm(['ci', '--prefix', PEERS, '--ignore-scripts', '--no-audit', '--no-fund']);
  await writeFile(INSTALLED, lock);
}

function npm(args: readonly string[]): Promise<void> {
  // Drop npm's variables about the current project, because another one is installed here.
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(?:npm_(?:package|lifecycle)_|npm_config_local)/i.test(name),
  );
  const child = spawn('npm', args, {
    cwd: PEERS,
    env: Object.fromEntries(kept),
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`npm ci in bench/peers ended with ${code}`)),
    );
  });
}
