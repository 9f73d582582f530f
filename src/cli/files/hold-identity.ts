import { wrongUse } from '../cli-error.ts';
import { type Identity, parseIdentity, printIdentity } from './identity.ts';
import { lockFile } from './lock-file.ts';
import { readPrivate } from './read-private.ts';
import { makeFolderOf, removePrivate, writePrivate } from './write-private.ts';

/** A merchant's file while this process alone works on it. */
export interface HeldIdentity {
  readonly path: string;
  /** As it stands on the disk; null where there is no file. */
  readonly content: Identity | null;
  /** On the disk when it resolves. */
  save(content: Identity): Promise<void>;
  remove(): Promise<void>;
}

/** One process at a time: a key that another process saved between this one's read and write would be lost. */
export async function holdIdentity<T>(path: string, work: (held: HeldIdentity) => Promise<T>): Promise<T> {
  await makeFolderOf(path);
  const lock = await lockFile(path);
  try {
    let text = await readPrivate(path);
    let content = text === null ? null : parseIdentity(text, path);
    return await work({
      path,
      get content() {
        return content;
      },
      save: async (changed) => {
        // The lock does not reach everywhere: a home may be shared with another machine.
        if ((await readPrivate(path)) !== text)
          throw wrongUse(`${path} was changed by somebody else meanwhile`, 'Run the command again.', 'file_changed');
        const written = printIdentity(changed);
        await writePrivate(path, written, text === null ? 'new' : 'replace');
        [text, content] = [written, changed];
      },
      remove: async () => {
        await removePrivate(path);
        [text, content] = [null, null];
      },
    });
  } finally {
    await lock.release();
  }
}

export async function readIdentity(path: string): Promise<Identity | null> {
  const text = await readPrivate(path);
  return text === null ? null : parseIdentity(text, path);
}
