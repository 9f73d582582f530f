import { type Finished, finishSpends } from '../../agent/finish-spends.ts';
import type { SpendRecord } from '../../agent/spend-record.ts';
import type { Cli, Done } from '../cli.ts';
import type { Command } from '../command.ts';
import { namedMarket } from '../find-file.ts';
import { openAccount } from '../open-account.ts';
import { notPaid, openPurse } from '../open-purse.ts';
import { OF_A_MERCHANT } from '../options.ts';
import { oneLine } from '../printable.ts';
import { readId } from '../read-values.ts';

async function run(cli: Cli): Promise<Done> {
  const [given] = cli.positionals;
  const listingId = given === undefined ? undefined : readId(given);
  const market = namedMarket(cli);
  const purse = await openPurse(cli);
  const finished = await finishSpends({
    ...purse,
    isMeant: (record) =>
      (listingId === undefined || record.listing_id === listingId) && (market === null || record.market === market),
    connect: async (record) => cli.connect(record.market, await keyFor(cli, record)),
    onBegin: (record) => cli.note(`going on with “${oneLine(record.title)}” at ${record.market}`),
  });
  const lines = finished.map(sayFinished);
  const failed = finished.find((one) => 'error' in one);
  if (failed === undefined) {
    const said = lines.length === 0 ? ['No payment of this wallet is under way.'] : lines;
    return { lines: said, json: { finished: finished.map(jsonOf) }, secrets: [] };
  }
  for (const line of lines) cli.note(line);
  throw notPaid('error' in failed ? failed.error : null, purse.wallet, 'openaisle wait');
}

/** A fee is paid by a merchant, whose key asks for the listing. Goods are collected by the wallet itself. */
async function keyFor(cli: Cli, record: SpendRecord): Promise<string | undefined> {
  if (record.kind === 'purchase') return undefined;
  return (await openAccount({ ...cli, options: { ...cli.options, market: record.market } })).key;
}

function sayFinished(one: Finished): string {
  const title = `“${oneLine(one.record.title)}”`;
  if ('bought' in one) return `${title}: goods ${one.bought.path}`;
  if ('sold' in one) return `${title}: listing ${one.sold.listing_id}, ${one.sold.url}`;
  return `${title}: not done`;
}

function jsonOf(one: Finished): Record<string, unknown> {
  const { kind, market, title } = one.record;
  if ('bought' in one) return { kind, market, title, listing_id: one.record.listing_id, path: one.bought.path };
  if ('sold' in one) return { kind, market, title, listing_id: one.sold.listing_id, url: one.sold.url };
  return { kind, market, title };
}

export const wait: Command = {
  name: 'wait',
  summary: 'goes on with payments that were signed and are not done: of one listing, or all of this wallet',
  positionals: [{ name: 'ID', required: false }],
  options: ['wallet', ...OF_A_MERCHANT, 'pay-again', 'pay-anew'],
  examples: ['openaisle wait', 'openaisle wait 7'],
  run,
};
