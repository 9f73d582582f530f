import { constants, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { nullIfMissing } from '../../data-folder.ts';
import { systemRandom } from '../../random.ts';
import { type Launch, runBinary } from './binaries.ts';
import type { Home } from './prepare-home.ts';
import type { ServerUser } from './server-user.ts';

const SECRET_BYTES = 32;
/** Allows connections only over the socket and only with a password, even for roles that the operator adds. */
const HOST_RULES = '# Written at every start.\nlocal all all scram-sha-256\n';

const secretFile = (folder: string): string => join(folder, 'password');

/** Returns the password of the role that a start creates. Null if no start has set one yet. */
export async function readSecret(folder: string): Promise<string | null> {
  return readFile(secretFile(folder), 'utf8').catch(nullIfMissing);
}

/**
 * Makes the server require a password that only this process's user can read, and returns the password. Works on a fresh cluster, and on
 * one of an earlier version that trusted everybody at its socket. No server may be running on the cluster.
 */
export async function secureCluster(home: Home, launch: Launch, log: (line: string) => void): Promise<string> {
  const rules = join(home.cluster, 'pg_hba.conf');
  const existing = await readSecret(home.folder);
  if (existing !== null && (await readFile(rules, 'utf8')) === HOST_RULES) return existing;
  const secret = systemRandom.bytes(SECRET_BYTES).toString('base64url');
  // Set the password before saving it, so that a saved password always works. An interrupted start makes the next one set another password.
  await setPassword(home, launch, secret);
  await writePrivately(secretFile(home.folder), secret, null);
  await writePrivately(rules, HOST_RULES, home.user);
  log(`the database in ${home.cluster} now asks for a password, which is in ${secretFile(home.folder)}`);
  return secret;
}

/** Sets the password with a single-user server, which has no socket and reads only our input. */
async function setPassword(home: Home, launch: Launch, secret: string): Promise<void> {
  // More rounds would only slow down every connection: nobody can guess 256 random bits.
  const settings = "set password_encryption = 'scram-sha-256'; set scram_iterations = 1;";
  const statement = `${settings} alter role ${SUPERUSER} password '${secret}';\n`;
  const output = await runBinary(launch, 'postgres', ['--single', '-D', home.cluster, 'postgres'], statement);
  // The exit code is 0 even if the statement failed. The output may contain the statement, so do not print it.
  if (/\b(?:ERROR|FATAL|PANIC):/.test(output))
    throw new Error('the password of the embedded PostgreSQL could not be set');
}

/** Writes the file completely or not at all, syncs it, and never follows a link that another program created. */
async function writePrivately(path: string, text: string, user: ServerUser | null): Promise<void> {
  const partial = `${path}.partial`;
  await rm(partial, { force: true });
  const file = await open(
    partial,
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
    0o600,
  );
  try {
    if (user !== null) await file.chown(user.uid, user.gid);
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(partial, path);
  const folder = await open(join(path, '..'));
  await folder.sync();
  await folder.close();
}

/** The only role that a start creates. */
export const SUPERUSER = 'openaisle';
