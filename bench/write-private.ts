import { writeFile } from 'node:fs/promises';

/** Returns the path, for settings of a server that reads a key or a pepper from a file. */
export async function writePrivate(file: string, text: string): Promise<string> {
  await writeFile(file, text, { mode: 0o600 });
  return file;
}
