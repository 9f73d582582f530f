import { exportStore } from '../../agent/export/export-store.ts';
import { exportPurchases } from '../../agent/export/purchases.ts';
import type { Cli, Command, CommandOutput } from '../cli.ts';
import { callAsMerchant } from '../open-account.ts';
import { bookOf, openOwnWallet } from '../open-wallet-session.ts';
import { MERCHANT_OPTIONS } from '../options.ts';
import { countText } from '../printable.ts';

const NOTE_EVERY = 20;

async function runExport(cli: Cli): Promise<CommandOutput> {
  const [dir = ''] = cli.positionals;
  if (cli.options.purchases === true) return exportBook(cli, dir);
  return callAsMerchant(cli, async (client, { market }) => {
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
        `Store ${handle}: ${countText(listings, 'listing')} (${read} downloaded, ${listings - read} already here), ${countText(sales, 'sale')}`,
        `export ${done.dir}`,
        'It has the goods, but no key and no recovery codes: keep copies of those separately.',
      ],
      json: { market, kind: 'store', handle, dir: done.dir, listings, read, sales },
    };
  });
}

/** Needs no market, because book and goods are on this machine. The wallet signs the export, so that an import can trust it. */
async function exportBook(cli: Cli, dir: string): Promise<CommandOutput> {
  const signer = await openOwnWallet(cli);
  const done = await exportPurchases(bookOf(cli, signer.address), dir, { now: cli.now, signer });
  const { wallet, records, goods, missing } = done;
  return {
    lines: [
      `Wallet ${wallet}: ${countText(records, 'payment')}, goods of ${goods}`,
      ...(missing === 0 ? [] : [`Goods of ${missing} are missing or changed: run openaisle buy to get them again.`]),
      `export ${done.dir}`,
      'It has goods, and signed payments in progress, which are worth money. It doesn’t have the wallet’s key: keep a copy of that too.',
    ],
    json: { kind: 'purchases', wallet, dir: done.dir, records, goods, missing },
  };
}

export const exportCommand: Command = {
  name: 'export',
  summary:
    'writes your whole store to a folder: listings, goods with their salts, sales, fees; or what a wallet bought',
  positionals: [{ name: 'DIR', required: true }],
  options: [...MERCHANT_OPTIONS, 'purchases', 'wallet'],
  examples: ['openaisle export store-of-ink', 'openaisle export bought --purchases --json'],
  run: runExport,
};
