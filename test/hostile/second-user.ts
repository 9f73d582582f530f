import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('./second-user-program.ts', import.meta.url));

export interface SecondUser {
  /** Listens at an abstract socket name as soon as it is free, and floods every client. */
  hold(name: string): Promise<void>;
  /** Returns our names that appeared in the kernel's socket list since the program started. */
  names(): Promise<string[]>;
  /** Returns the lock name that the previous version used for a folder. */
  nameOf(folder: string): Promise<string>;
  asked(): Promise<number>;
  makeFolder(path: string): Promise<void>;
  /** Connects to a path and returns the kernel's answer. */
  reach(path: string): Promise<string>;
  /** Opens a thousand connections to a name and keeps them open. */
  crowd(name: string): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a process of user 65534. Requires root. */
export async function startSecondUser(): Promise<SecondUser> {
  if (process.getuid?.() !== 0) throw new Error('only root can start a process of another user');
  const child = spawn(process.execPath, [PROGRAM], { env: {}, stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const tell = async (command: string, argument = ''): Promise<string> => {
    child.stdin.write(`${command} ${argument}\n`);
    const { value } = await lines.next();
    return String(value);
  };
  // The process has dropped its rights once it answers.
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
