import { writeFile } from 'node:fs/promises';

/** The file's path, for the settings of a server that reads a key or a pepper there. */
export async function writePrivate(file: string, text: string): Promise<string> {
  await writeFile(file, text, { mode: 0o600 });
  return file;
}
