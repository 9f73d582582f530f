import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { systemClock } from '../../clock.ts';

/** Runs the database and nothing else, so that no other program of the machine has its rights. */
export const SYSTEM_USER = 'openaisle-postgres';

const USERADD = ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent'];
/** Another start, or an installation, may hold the list of users at the moment. */
const ATTEMPTS = 10;
const WAIT_MS = 300;

/** Whom the server runs as when this process is root, which PostgreSQL refuses. */
export interface ServerUser {
  name: string;
  uid: number;
  gid: number;
}

export async function findUser(name: string): Promise<ServerUser | null> {
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const [, , uid, gid] =
    passwd
      .split('\n')
      .map((line) => line.split(':'))
      .find(([first]) => first === name) ?? [];
  // Some systems write -2: the same bits, but the kernel takes them without a sign.
  return uid === undefined || gid === undefined ? null : { name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
}

/** Finds that user or makes it. Only root can; null with the reason in the log where it cannot be made. */
export async function ensureSystemUser(
  log: (line: string) => void,
  command: string = 'useradd',
): Promise<ServerUser | null> {
  for (let attempt = 1; ; attempt += 1) {
    const found = await findUser(SYSTEM_USER);
    if (found !== null) return found;
    try {
      await promisify(execFile)(command, [...USERADD, '--shell', '/usr/sbin/nologin', SYSTEM_USER], {
        env: { PATH: '/usr/sbin:/sbin:/usr/bin:/bin', LC_ALL: 'C' },
      });
      log(`started as root: made the system user ${SYSTEM_USER}, which runs PostgreSQL and nothing else`);
    } catch (error) {
      const why = error instanceof Error ? (error.message.trim().split('\n').at(-1) ?? '') : String(error);
      const isPassing = /\block\b|already exists/.test(why);
      if (!isPassing || attempt === ATTEMPTS) {
        log(`the system user ${SYSTEM_USER} cannot be made (${why})`);
        return null;
      }
      await systemClock.sleep(WAIT_MS);
    }
  }
}

/** Whether the system knows a user of that number: PostgreSQL does not run as one it does not know. */
export function isKnownUser(uid: number): Promise<boolean> {
  return promisify(execFile)('id', ['-un', String(uid)]).then(
    () => true,
    () => false,
  );
}
