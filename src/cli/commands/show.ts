import { type Cli, connectTo, type Done } from '../cli.ts';
import type { Command } from '../command.ts';
import { neededMarket } from '../find-file.ts';
import { listingLines, quoted } from '../listing-lines.ts';
import { readCount, readId } from '../read-values.ts';

const USUAL_COMMENTS = 10;

async function run(cli: Cli): Promise<Done> {
  const market = neededMarket(cli);
  const id = readId(cli.positionals[0]);
  const query = { comments_limit: readCount(cli.options.limit, 'limit') ?? USUAL_COMMENTS };
  const { body } = await connectTo(cli, market)().getListing({ params: { id }, query });
  const { listing, comments, comments_total, comments_has_more } = body;
  return {
    lines: [
      ...listingLines(listing),
      '',
      comments_total === 0 ? 'No comments' : `Comments (${comments.length} of ${comments_total})`,
      ...comments.flatMap(({ id: of, handle, verified_buyer, created_at, parent_id, removed, body: text }) => [
        `${of}  ${handle}${verified_buyer ? ' (bought it)' : ''}, ${created_at}${parent_id === null ? '' : `, to ${parent_id}`}`,
        ...(removed ? ['removed'] : quoted(text)),
      ]),
    ],
    json: { market, listing, comments, comments_total, comments_has_more },
    secrets: [],
  };
}

export const show: Command = {
  name: 'show',
  summary: 'one listing in full, with its first comments',
  positionals: [{ name: 'ID', required: true }],
  options: ['limit'],
  examples: ['openaisle show 7', 'openaisle show 7 --limit 50 --json'],
  run,
};
