import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

export const UNFINISHED = '.unfinished';

/** The file is there in full, old or new. Durable: the new one even if the machine loses its power right afterwards. */
export async function writeWhole(path: string, text: string, durable: boolean): Promise<void> {
  const unfinished = `${path}${UNFINISHED}`;
  const file = await open(unfinished, 'w', 0o600);
  try {
    await file.writeFile(text);
    if (durable) await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, path);
  if (!durable) return;
  // The name is part of the folder, which has to reach the disk as well.
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
