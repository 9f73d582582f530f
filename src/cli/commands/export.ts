import { exportStore } from '../../agent/export/export-store.ts';
import { asMerchant } from '../as-merchant.ts';
import type { Cli, Done } from '../cli.ts';
import type { Command } from '../command.ts';
import { OF_A_MERCHANT } from '../options.ts';

const NOTE_EVERY = 20;

async function run(cli: Cli): Promise<Done> {
  const [dir = ''] = cli.positionals;
  return asMerchant(cli, async (client, { market }) => {
    const done = await exportStore({
      client,
      dir,
      now: cli.now,
      onProgress: ({ listings, of }) => {
        if (listings % NOTE_EVERY === 0) cli.note(`${listings} of ${of} listings`);
      },
    });
    const { handle, listings, read, sales } = done;
    return {
      lines: [
        `The store ${handle}: ${listings} listings (${read} read now, ${listings - read} were here as they are), ${sales} sales`,
        `export ${done.dir}`,
        'It holds the goods, and neither key nor recovery code: keep copies of those apart from it.',
      ],
      json: { market, kind: 'store', handle, dir: done.dir, listings, read, sales },
      secrets: [],
    };
  });
}

export const exportCommand: Command = {
  name: 'export',
  summary: 'writes the whole store into a folder: listings, goods with their salts, sales, fees; run again it goes on',
  positionals: [{ name: 'DIR', required: true }],
  options: [...OF_A_MERCHANT],
  examples: ['openaisle export store-of-ink', 'openaisle export store-of-ink --handle ink --json'],
  run,
};
