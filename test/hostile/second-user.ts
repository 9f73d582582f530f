import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('./second-user-program.ts', import.meta.url));

export interface SecondUser {
  /** Listens at a name of the kernel's as soon as it can have it, and floods whoever asks. */
  hold(name: string): Promise<void>;
  /** Names of ours that it has seen in the kernel's list since it started. */
  names(): Promise<string[]>;
  /** The version before's name of the lock of a folder. */
  nameOf(folder: string): Promise<string>;
  /** Counts the questions. */
  asked(): Promise<number>;
  makeFolder(path: string): Promise<void>;
  /** The kernel's answer to a connection. */
  reach(path: string): Promise<string>;
  /** Opens a thousand connections to a name, and keeps them. */
  crowd(name: string): Promise<void>;
  stop(): Promise<void>;
}

/** A process of user 65534. Needs root, which the tests run as. */
export async function startSecondUser(): Promise<SecondUser> {
  if (process.getuid?.() !== 0) throw new Error('only root can start a process of another user');
  const child = spawn(process.execPath, [PROGRAM], { env: {}, stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const tell = async (command: string, argument = ''): Promise<string> => {
    child.stdin.write(`${command} ${argument}\n`);
    const { value } = await lines.next();
    return String(value);
  };
  // It has let go of its rights once it answers.
  await tell('names');
  return {
    hold: async (name) => void (await tell('hold', name)),
    names: async () => JSON.parse(await tell('names')) as string[],
    nameOf: (folder) => tell('nameOf', folder),
    asked: async () => Number(await tell('asked')),
    makeFolder: async (path) => void (await tell('make', path)),
    reach: (path) => tell('reach', path),
    crowd: async (name) => void (await tell('crowd', name)),
    stop: async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}
