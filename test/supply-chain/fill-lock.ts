import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { packagesOf } from './read-lock.ts';

/**
 * `npm run lock` adds missing integrity values. npm omits those of some packages in a lock file without URLs and does not add them later.
 * This fetches them one package at a time and changes nothing else in the file. `npm ci` then checks them.
 */
const file = new URL('../../package-lock.json', import.meta.url);
const lock: { packages: Record<string, Record<string, unknown>> } = JSON.parse(readFileSync(file, 'utf8'));

for (const { path, name, version, integrity } of packagesOf(lock)) {
  if (integrity !== undefined) continue;
  const said = execFileSync('npm', ['view', `${name}@${version}`, 'dist.integrity', '--prefer-offline'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
  if (!/^sha512-[A-Za-z0-9+/]{86}==$/.test(said))
    throw new Error(`no sha512 integrity for ${name}@${version}: ${said}`);
  lock.packages[path] = withIntegrity(lock.packages[path] ?? {}, said);
  process.stdout.write(`${name}@${version}\n`);
}
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);

/** Inserts the integrity after the version, where npm writes it. */
function withIntegrity(entry: Record<string, unknown>, integrity: string): Record<string, unknown> {
  const { version, ...rest } = entry;
  return { version, integrity, ...rest };
}
