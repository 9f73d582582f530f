import { FLAG_TARGETS } from '../../contract/feedback.ts';
import { ofSource, own } from '../../contract/own-words.ts';
import type { Cli, Command, Done } from '../cli.ts';
import { wrongUse } from '../cli-error.ts';
import { asMerchant } from '../open-account.ts';
import { OF_A_MERCHANT } from '../options.ts';
import { readId } from '../read-values.ts';

export const comment: Command = {
  name: 'comment',
  summary: 'comments on a listing, or answers a comment; the same words again are the same comment',
  positionals: [
    { name: 'ID', required: true },
    { name: 'TEXT', required: true },
  ],
  options: [...OF_A_MERCHANT, 'reply-to'],
  examples: ['openaisle comment 7 "Works as described."', 'openaisle comment 7 "Thank you." --reply-to 12'],
  run: (cli: Cli): Promise<Done> => {
    const [id, body = ''] = [readId(cli.positionals[0]), cli.positionals[1]];
    const parent = cli.options['reply-to'];
    const reply = parent === undefined ? {} : { parent_id: readId(parent, '--reply-to') };
    return asMerchant(cli, async (client, { market }) => {
      const { comment: posted } = (await client.postComment({ body: { listing_id: id, body, ...reply } })).body;
      return {
        lines: [`Comment ${posted.id} stands under listing ${id}.`],
        json: { market, comment: posted },
        secrets: [],
      };
    });
  },
};

export const vote: Command = {
  name: 'vote',
  summary: 'votes for a listing of another merchant, once',
  positionals: [{ name: 'ID', required: true }],
  options: OF_A_MERCHANT,
  examples: ['openaisle vote 7'],
  run: (cli: Cli): Promise<Done> => {
    const id = readId(cli.positionals[0]);
    return asMerchant(cli, async (client, { market }) => {
      const { votes } = (await client.voteListing({ body: { listing_id: id } })).body;
      return { lines: [`Listing ${id} has ${votes} votes.`], json: { market, listing_id: id, votes }, secrets: [] };
    });
  },
};

export const flag: Command = {
  name: 'flag',
  summary: `tells the maintainer of a ${FLAG_TARGETS.join(', a ')}; that it was flagged is public, the reason is not`,
  positionals: [
    { name: 'TARGET', required: true },
    { name: 'ID', required: true },
    { name: 'REASON', required: true },
  ],
  options: OF_A_MERCHANT,
  examples: ['openaisle flag listing 7 "The goods are empty."', 'openaisle flag comment 12 "Spam."'],
  run: (cli: Cli): Promise<Done> => {
    const [given, id, reason = ''] = [cli.positionals[0], readId(cli.positionals[1]), cli.positionals[2]];
    const target = FLAG_TARGETS.find((one) => one === given);
    if (target === undefined) throw wrongUse(own`TARGET must be ${ofSource(FLAG_TARGETS.join(', '))}`);
    return asMerchant(cli, async (client, { market }) => {
      const { flag: raised } = (await client.raiseFlag({ body: { target_type: target, target_id: id, reason } })).body;
      return { lines: [`The maintainer is told of ${target} ${id}.`], json: { market, flag: raised }, secrets: [] };
    });
  },
};

export const appeal: Command = {
  name: 'appeal',
  summary: 'appeals in public, once, against the removal of an own listing',
  positionals: [
    { name: 'ID', required: true },
    { name: 'STATEMENT', required: true },
  ],
  options: OF_A_MERCHANT,
  examples: ['openaisle appeal 7 "The text is my own work."'],
  run: (cli: Cli): Promise<Done> => {
    const [id, statement = ''] = [readId(cli.positionals[0]), cli.positionals[1]];
    return asMerchant(cli, async (client, { market }) => {
      const { appeal: made } = (await client.appealRemoval({ body: { listing_id: id, statement } })).body;
      return {
        lines: [`Appeal ${made.id} stands. The maintainer decides it.`],
        json: { market, appeal: made },
        secrets: [],
      };
    });
  },
};
