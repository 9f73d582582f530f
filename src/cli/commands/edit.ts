import { asMerchant } from '../as-merchant.ts';
import type { Cli, Done } from '../cli.ts';
import { wrongUse } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { OF_A_MERCHANT } from '../options.ts';
import { oneLine } from '../printable.ts';
import { readGoods, saidOf } from '../read-goods.ts';
import { readId, readText } from '../read-values.ts';

async function run(cli: Cli): Promise<Done> {
  const { options, positionals } = cli;
  const id = readId(positionals[0]);
  const goods = options.goods === undefined ? null : await readGoods(options.goods, options['media-type']);
  const body = {
    ...saidOf(options),
    ...(options.title === undefined ? {} : { title: options.title }),
    ...(options.description === undefined ? {} : { description: options.description }),
    ...(options.preview === undefined ? {} : { preview: await readText(options.preview) }),
    ...(goods === null ? {} : goods.fields),
  };
  const names = Object.keys(body);
  if (names.length === 0) throw wrongUse('Nothing to change was named', 'openaisle edit --help tells what can be.');
  for (const note of goods?.notes ?? []) cli.note(note);
  return asMerchant(cli, async (client, { market }) => {
    const { listing } = (await client.editListing({ params: { id }, body })).body;
    return {
      lines: [`${id} is changed (${names.join(', ')}): ${oneLine(listing.title)}`],
      json: { market, listing, changed: names },
      secrets: [],
    };
  });
}

export const edit: Command = {
  name: 'edit',
  summary: 'changes an own listing before its first purchase; price and wallet never change, goods where they are free',
  positionals: [{ name: 'ID', required: true }],
  options: ['title', 'description', 'preview', 'aisle', 'tag', 'license', 'goods', 'media-type', ...OF_A_MERCHANT],
  examples: ['openaisle edit 7 --description "With an index."', 'openaisle edit 7 --tag git --tag ci --license MIT'],
  run,
};
