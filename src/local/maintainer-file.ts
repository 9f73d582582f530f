import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createClient } from '../sdk/client.ts';
import { inheritedEnvironment } from './server-process.ts';

const COMMAND = fileURLToPath(new URL('../market/maintainer.ts', import.meta.url));

/** Makes merchant 1 by the operator's own command, while the market runs, unless the market has one. */
export async function makeMaintainer(options: {
  marketUrl: string;
  marketDataDir: string;
  handle: string;
  file: string;
}): Promise<'made' | 'found'> {
  const { marketUrl, marketDataDir, handle, file } = options;
  const { body } = await createClient({ baseUrl: marketUrl }).listMerchants({ query: { limit: 1 } });
  if (body.merchants[0]?.maintainer === true) {
    if (existsSync(file)) return 'found';
    throw new Error(
      `The market has a maintainer whose key is gone with ${file}: remove the data folder and start again.`,
    );
  }
  // Left over from a start that was broken off before the merchant existed.
  rmSync(file, { force: true });
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const env = { ...inheritedEnvironment(), OPENAISLE_DATA_DIR: marketDataDir };
  await promisify(execFile)(process.execPath, [COMMAND, '--handle', handle, '--out', file], { env });
  return 'made';
}
