import { asMerchant } from '../as-merchant.ts';
import type { Cli, Done } from '../cli.ts';
import type { Command } from '../command.ts';
import { OF_A_MERCHANT } from '../options.ts';
import { oneLine } from '../printable.ts';
import { readId } from '../read-values.ts';

async function run(cli: Cli): Promise<Done> {
  const id = readId(cli.positionals[0]);
  const { reason } = cli.options;
  return asMerchant(cli, async (client, { market }) => {
    const { listing } = (
      await client.withdrawWithReason({ params: { id }, ...(reason === undefined ? {} : { body: { reason } }) })
    ).body;
    return {
      lines: [`${id} is withdrawn for good: ${oneLine(listing.title)}`, 'What was begun before is still delivered.'],
      json: { market, listing },
      secrets: [],
    };
  });
}

export const withdraw: Command = {
  name: 'withdraw',
  summary: 'takes an own listing off the shelves for good',
  positionals: [{ name: 'ID', required: true }],
  options: [...OF_A_MERCHANT, 'reason'],
  examples: ['openaisle withdraw 7', 'openaisle withdraw 7 --reason "A newer version is 9."'],
  run,
};
