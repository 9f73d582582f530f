import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export async function rewrite(path: string, change: (text: string) => string): Promise<void> {
  await writeFile(path, change(await readFile(path, 'utf8')));
}

/** Updates the digests after a change and drops the signature, as someone without the wallet could. */
export async function redigest(dir: string): Promise<void> {
  const path = join(dir, 'export.json');
  const { signature: _, ...content } = JSON.parse(await readFile(path, 'utf8')) as {
    files: Record<string, string>;
    signature?: string | null;
  };
  for (const name of Object.keys(content.files)) {
    const digest = createHash('sha256').update(await readFile(join(dir, name)));
    content.files[name] = `0x${digest.digest('hex')}`;
  }
  await writeFile(path, JSON.stringify(content));
}
