import { dataFolder } from '../../agent/folders.ts';
import { sendGoods } from '../../agent/goods/upload-file.ts';
import { inQuotes } from '../../contract/foreign-words.ts';
import { own } from '../../contract/own-words.ts';
import { isSummary, SHORT_ACCOUNT } from '../../sdk/pages.ts';
import { byteNotes } from '../byte-notes.ts';
import type { Cli, Command, CommandOutput } from '../cli.ts';
import { wrongUse } from '../cli-error.ts';
import { callAsMerchant } from '../open-account.ts';
import { MERCHANT_OPTIONS } from '../options.ts';
import { foreignLine, listingRows } from '../printable.ts';
import { fieldsOf, readGoods } from '../read-goods.ts';
import { readCount, readId, readText } from '../read-values.ts';

const USUAL_ROWS = 20;

async function listOwn(cli: Cli): Promise<CommandOutput> {
  const limit = readCount(cli.options.limit, 'limit') ?? USUAL_ROWS;
  const before = readCount(cli.options.cursor, 'cursor');
  const page = before === undefined ? {} : { listings_before_id: before };
  return callAsMerchant(cli, async (client, { market }) => {
    const { body } = await client.getMe({ query: { ...SHORT_ACCOUNT, listings_limit: limit, ...page } });
    const { listings_total: total, listings_has_more: has_more, listings_next_before_id: next } = body;
    const listings = body.listings.filter(isSummary);
    return {
      lines: [
        ...listingRows(listings),
        `${listings.length} of ${total}`,
        ...(next === null ? [] : [`next: add --cursor ${next}`]),
      ],
      json: { market, listings, total, returned: listings.length, has_more, next_cursor: next },
    };
  });
}

export const listings: Command = {
  name: 'listings',
  summary: 'lists your listings, newest first, withdrawn and removed ones included',
  positionals: [],
  options: [...MERCHANT_OPTIONS, 'limit', 'cursor'],
  examples: ['openaisle listings', 'openaisle listings --limit 50 --json'],
  run: listOwn,
};

async function editListing(cli: Cli): Promise<CommandOutput> {
  const { options, positionals } = cli;
  const id = readId(positionals[0]);
  const goods = options.goods === undefined ? null : await readGoods(options.goods, options['media-type']);
  const about = {
    ...fieldsOf(options),
    ...(options.title === undefined ? {} : { title: options.title }),
    ...(options.description === undefined ? {} : { description: options.description }),
    ...(options.preview === undefined ? {} : { preview: await readText(options.preview) }),
    ...(goods === null ? {} : goods.fields),
  };
  const names = [...Object.keys(about), ...(goods === null ? [] : ['goods'])];
  if (names.length === 0)
    throw wrongUse(own`No change was given`, own`Run openaisle edit --help to see what can be changed.`);
  for (const note of goods?.notes ?? []) cli.note(note);
  return callAsMerchant(cli, async (client, { market }) => {
    const change = (more: object) => client.editListing({ params: { id }, body: { ...about, ...more } });
    const following = { folder: dataFolder(cli.env), onBytes: byteNotes(cli), signal: cli.interruption() };
    const changed = goods === null ? await change({}) : await sendGoods({ client, ...following }, goods.file, change);
    const { listing } = changed.body;
    return {
      lines: [foreignLine(`Changed listing ${id} (${names.join(', ')}): ${inQuotes(listing.title)}`)],
      json: { market, listing, changed: names },
    };
  });
}

export const edit: Command = {
  name: 'edit',
  summary: 'edits your listing before its first sale; price and wallet never change, goods only if they are free',
  positionals: [{ name: 'ID', required: true }],
  options: [
    ...(['title', 'description', 'preview', 'aisle', 'tag', 'keyword', 'license', 'goods', 'media-type'] as const),
    ...MERCHANT_OPTIONS,
  ],
  examples: [
    'openaisle edit 7 --description "With an index."',
    'openaisle edit 7 --tag git --tag ci --keyword changelog --license MIT',
  ],
  run: editListing,
};

async function withdrawListing(cli: Cli): Promise<CommandOutput> {
  const id = readId(cli.positionals[0]);
  const { reason } = cli.options;
  return callAsMerchant(cli, async (client, { market }) => {
    const { listing } = (
      await client.withdrawWithReason({ params: { id }, ...(reason === undefined ? {} : { body: { reason } }) })
    ).body;
    return {
      lines: [
        foreignLine(`Withdrew listing ${id} for good: ${inQuotes(listing.title)}`),
        'Purchases already in progress will still be delivered.',
      ],
      json: { market, listing },
    };
  });
}

export const withdraw: Command = {
  name: 'withdraw',
  summary: 'takes your listing off the shelves for good',
  positionals: [{ name: 'ID', required: true }],
  options: [...MERCHANT_OPTIONS, 'reason'],
  examples: ['openaisle withdraw 7', 'openaisle withdraw 7 --reason "A newer version is 9."'],
  run: withdrawListing,
};
