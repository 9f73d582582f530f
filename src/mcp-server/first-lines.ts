import { open } from 'node:fs/promises';

const MOST_BYTES = 4_096;
const MOST_LINES = 20;
const MOST_CHARACTERS = 2_000;

/** The beginning of a text file, at most 20 lines and 2,000 characters; null where the file is no UTF-8 text. */
export async function firstLines(path: string): Promise<string | null> {
  const file = await open(path, 'r');
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MOST_BYTES), 0, MOST_BYTES, 0);
    const decoder = new TextDecoder('utf-8', { fatal: true });
    // What is read may end within a character.
    const text = decoder.decode(buffer.subarray(0, bytesRead), { stream: true });
    if (text.includes('\0')) return null;
    return text.split('\n').slice(0, MOST_LINES).join('\n').slice(0, MOST_CHARACTERS);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  } finally {
    await file.close();
  }
}
