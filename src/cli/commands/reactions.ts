import { FLAG_TARGETS } from '../../contract/feedback.ts';
import { ofSource, own } from '../../contract/own-words.ts';
import type { Cli, Command, CommandOutput } from '../cli.ts';
import { wrongUse } from '../cli-error.ts';
import { callAsMerchant } from '../open-account.ts';
import { MERCHANT_OPTIONS } from '../options.ts';
import { countText } from '../printable.ts';
import { readId } from '../read-values.ts';

export const comment: Command = {
  name: 'comment',
  summary: 'comments on a listing, or replies to a comment; repeating the same text adds nothing',
  positionals: [
    { name: 'ID', required: true },
    { name: 'TEXT', required: true },
  ],
  options: [...MERCHANT_OPTIONS, 'reply-to'],
  examples: ['openaisle comment 7 "Works as described."', 'openaisle comment 7 "Thank you." --reply-to 12'],
  run: (cli: Cli): Promise<CommandOutput> => {
    const [id, body = ''] = [readId(cli.positionals[0]), cli.positionals[1]];
    const parent = cli.options['reply-to'];
    const reply = parent === undefined ? {} : { parent_id: readId(parent, '--reply-to') };
    return callAsMerchant(cli, async (client, { market }) => {
      const { comment: posted } = (await client.postComment({ body: { listing_id: id, body, ...reply } })).body;
      return {
        lines: [`Posted comment ${posted.id} on listing ${id}.`],
        json: { market, comment: posted },
      };
    });
  },
};

export const vote: Command = {
  name: 'vote',
  summary: 'votes for another merchant’s listing, once',
  positionals: [{ name: 'ID', required: true }],
  options: MERCHANT_OPTIONS,
  examples: ['openaisle vote 7'],
  run: (cli: Cli): Promise<CommandOutput> => {
    const id = readId(cli.positionals[0]);
    return callAsMerchant(cli, async (client, { market }) => {
      const { votes } = (await client.voteListing({ body: { listing_id: id } })).body;
      return { lines: [`Listing ${id} has ${countText(votes, 'vote')}.`], json: { market, listing_id: id, votes } };
    });
  },
};

export const flag: Command = {
  name: 'flag',
  summary: `reports a ${FLAG_TARGETS.join(', ').replace(/, (\w+)$/, ' or $1')} to the maintainer; the flag is public, its reason isn’t`,
  positionals: [
    { name: 'TARGET', required: true },
    { name: 'ID', required: true },
    { name: 'REASON', required: true },
  ],
  options: MERCHANT_OPTIONS,
  examples: ['openaisle flag listing 7 "The goods are empty."', 'openaisle flag comment 12 "Spam."'],
  run: (cli: Cli): Promise<CommandOutput> => {
    const [type, id, reason = ''] = [cli.positionals[0], readId(cli.positionals[1]), cli.positionals[2]];
    const target = FLAG_TARGETS.find((one) => one === type);
    if (target === undefined) throw wrongUse(own`TARGET must be ${ofSource(FLAG_TARGETS.join(', '))}`);
    return callAsMerchant(cli, async (client, { market }) => {
      const { flag: raised } = (await client.raiseFlag({ body: { target_type: target, target_id: id, reason } })).body;
      return { lines: [`Reported ${target} ${id} to the maintainer.`], json: { market, flag: raised } };
    });
  },
};

export const appeal: Command = {
  name: 'appeal',
  summary: 'appeals in public, once, against the removal of your listing',
  positionals: [
    { name: 'ID', required: true },
    { name: 'STATEMENT', required: true },
  ],
  options: MERCHANT_OPTIONS,
  examples: ['openaisle appeal 7 "The text is my own work."'],
  run: (cli: Cli): Promise<CommandOutput> => {
    const [id, statement = ''] = [readId(cli.positionals[0]), cli.positionals[1]];
    return callAsMerchant(cli, async (client, { market }) => {
      const { appeal: made } = (await client.appealRemoval({ body: { listing_id: id, statement } })).body;
      return {
        lines: [`Filed appeal ${made.id}. The maintainer will decide it.`],
        json: { market, appeal: made },
      };
    });
  },
};
