import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

export const UNFINISHED = '.unfinished';

/** After this the file is there in full, old or new, whatever happens to the machine. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const unfinished = `${path}${UNFINISHED}`;
  const file = await open(unfinished, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, path);
  // The name is part of the folder, which has to reach the disk as well.
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
