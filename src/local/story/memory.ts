import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const memory = z.object({
  /** Stories told to their end in this folder. */
  told: z.int().nonnegative(),
  events_total: z.int().nonnegative(),
  first_sale: z
    .object({ listing_id: z.int(), artifact: z.string(), tx_hash: z.string(), block_number: z.int() })
    .nullable(),
});
export type Memory = z.output<typeof memory>;

const path = (dataDir: string): string => join(dataDir, 'story.json');

/** What an earlier story in this folder left to be found again. */
export function readMemory(dataDir: string): Memory {
  if (!existsSync(path(dataDir))) return { told: 0, events_total: 0, first_sale: null };
  return memory.parse(JSON.parse(readFileSync(path(dataDir), 'utf8')));
}

export function writeMemory(dataDir: string, remembered: Memory): void {
  const draft = `${path(dataDir)}.new`;
  // It holds an artifact that was paid for.
  writeFileSync(draft, `${JSON.stringify(remembered, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, path(dataDir));
}
