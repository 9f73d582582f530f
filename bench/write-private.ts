import { writeFile } from 'node:fs/promises';

/** Writes a key or a pepper to a file of mode 0600. Returns the path, for the settings of the server that reads it. */
export async function writePrivate(file: string, text: string): Promise<string> {
  await writeFile(file, text, { mode: 0o600 });
  return file;
}
