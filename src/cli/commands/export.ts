import { exportStore } from '../../agent/export/export-store.ts';
import { exportPurchases } from '../../agent/export/purchases.ts';
import type { Cli, Command, Done } from '../cli.ts';
import { asMerchant } from '../open-account.ts';
import { bookOf, openOwnWallet } from '../open-wallet-session.ts';
import { OF_A_MERCHANT } from '../options.ts';

const NOTE_EVERY = 20;

async function runExport(cli: Cli): Promise<Done> {
  const [dir = ''] = cli.positionals;
  if (cli.options.purchases === true) return exportBook(cli, dir);
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

/** The market is not asked: the book and the goods are here. The wallet signs, so that the copy is known for its own. */
async function exportBook(cli: Cli, dir: string): Promise<Done> {
  const signer = await openOwnWallet(cli);
  const done = await exportPurchases(bookOf(cli, signer.address), dir, { now: cli.now, signer });
  const { wallet, records, goods, missing } = done;
  return {
    lines: [
      `The wallet ${wallet}: ${records} payments, goods of ${goods}`,
      ...(missing === 0
        ? []
        : [`${missing} have no goods here that are as they came: openaisle buy brings them again`]),
      `export ${done.dir}`,
      'It holds goods, and proofs of payments under way, which are worth money. The wallet’s key is not in it: keep a copy of that, too.',
    ],
    json: { kind: 'purchases', wallet, dir: done.dir, records, goods, missing },
    secrets: [],
  };
}

export const exportCommand: Command = {
  name: 'export',
  summary:
    'writes the whole store into a folder: listings, goods with their salts, sales, fees; or what a wallet bought',
  positionals: [{ name: 'DIR', required: true }],
  options: [...OF_A_MERCHANT, 'purchases', 'wallet'],
  examples: ['openaisle export store-of-ink', 'openaisle export bought --purchases --json'],
  run: runExport,
};
