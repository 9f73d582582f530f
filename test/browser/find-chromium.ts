import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const APT = '/usr/bin/apt-get';

/** Finds a Chromium on this machine. If there is none, installs Debian's package, which requires root and apt. */
export function findChromium(env: NodeJS.ProcessEnv = process.env): string {
  const named = env['OPENAISLE_CHROMIUM'];
  if (named !== undefined && named !== '') {
    if (canRun(named)) return named;
    throw new Error('OPENAISLE_CHROMIUM names no file that can be run');
  }
  const found = onPath(env);
  if (found !== null) return found;
  if (process.getuid?.() === 0 && canRun(APT)) {
    execFileSync(APT, ['install', '-y', '--no-install-recommends', 'chromium'], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
    });
    const installed = onPath(env);
    if (installed !== null) return installed;
  }
  throw new Error(
    'These tests need Chromium: install it (on Debian as root: apt-get install -y chromium), or name a Chromium or Chrome in OPENAISLE_CHROMIUM.',
  );
}

function onPath(env: NodeJS.ProcessEnv): string | null {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(canRun) ?? null;
}

function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
