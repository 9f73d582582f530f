import { dataFolder } from '../../agent/folders.ts';
import type { GoodsFile } from '../../agent/goods/goods-file.ts';
import { type SellGoodsOptions, sellGoods, tryListing } from '../../agent/sell-goods.ts';
import { formatUsdc } from '../../contract/money.ts';
import { ofSource, own } from '../../contract/own-words.ts';
import type { Client } from '../../sdk/client.ts';
import { byteNotes } from '../byte-notes.ts';
import { chooseKeywords } from '../choose-keywords.ts';
import type { Cli, Command, CommandOutput } from '../cli.ts';
import { wrongUse } from '../cli-error.ts';
import { callAsMerchant } from '../open-account.ts';
import { openWalletSession, toPaymentError, walletAddress } from '../open-wallet-session.ts';
import { MERCHANT_OPTIONS } from '../options.ts';
import { countText } from '../printable.ts';
import { fieldsOf, type ReadGoods, readGoods } from '../read-goods.ts';
import { readId, readText, readUsdc } from '../read-values.ts';

type Body = SellGoodsOptions['listing'];

async function sellPath(cli: Cli): Promise<CommandOutput> {
  const { options, positionals } = cli;
  const goods = await readGoods(positionals[0] ?? '', options['media-type']);
  const about = await bodyOf(cli, goods);
  const order = { body: { ...about, ...(await chooseKeywords(cli, goods.files, about)) }, file: goods.file };
  for (const note of goods.notes) cli.note(note);
  return callAsMerchant(cli, (client, { market }) =>
    options['dry-run'] === true ? dryRun(cli, client, market, order) : payAndList(cli, client, market, order),
  );
}

interface Order {
  body: Body;
  file: GoodsFile;
}

async function bodyOf(cli: Cli, { fields }: ReadGoods): Promise<Body> {
  const { title, price, description, supersedes, entitle } = cli.options;
  const missing = Object.entries({ title, price, description }).filter(([, value]) => value === undefined);
  if (missing.length > 0)
    throw wrongUse(
      own`Missing: ${ofSource(missing.map(([name]) => `--${name}`).join(', '))}`,
      own`Run openaisle sell --help for examples.`,
    );
  return {
    ...fieldsOf(cli.options),
    title: title ?? '',
    description: description ?? '',
    preview: cli.options.preview === undefined ? '' : await readText(cli.options.preview),
    price_usdc: readUsdc(price, 'price') ?? 0,
    seller_wallet: cli.options['seller-wallet'] ?? (await walletAddress(cli)),
    ...(supersedes === undefined ? {} : { supersedes: readId(supersedes, '--supersedes') }),
    ...(entitle === true ? { entitles_previous_buyers: true } : {}),
    ...fields,
  };
}

async function dryRun(cli: Cli, client: Client, market: string, { body, file }: Order): Promise<CommandOutput> {
  const bytes = file.source.size;
  const following = { folder: dataFolder(cli.env), onBytes: byteNotes(cli), signal: cli.interruption() };
  const { feeUsdc: fee, encoding } = await tryListing({ client, listing: body, file, ...following });
  if (fee === null) throw wrongUse(own`You already listed exactly this`);
  return {
    lines: [
      `The market would accept it (${countText(bytes, 'byte')}). Nothing was paid or listed.`,
      fee === 0 ? 'No fee would be due.' : `The fee would be ${fee} USDC.`,
    ],
    json: {
      market,
      dry_run: true,
      would_cost_usdc: fee,
      bytes,
      artifact_encoding: encoding,
      keywords: body.keywords ?? [],
    },
  };
}

async function payAndList(cli: Cli, client: Client, market: string, { body, file }: Order): Promise<CommandOutput> {
  const session = await openWalletSession(cli);
  const maxFeeUsdc = readUsdc(cli.options['max-fee'], 'max-fee');
  // Detects an unreachable market before anything is signed, so that the error can say so.
  await client.getOfficialFacts();
  const sold = await sellGoods({
    ...session,
    client,
    listing: body,
    file,
    ...(maxFeeUsdc === undefined ? {} : { maxFeeUsdc }),
  }).catch((error: unknown) => {
    throw toPaymentError(error, session.wallet);
  });
  const { listing_id, url, tx_hash, paidUnits, alreadyListed, verified } = sold;
  const doubt = verified ? '' : '. Not verified: only an import says so. Check that it is there';
  return {
    lines: [
      alreadyListed ? `Already listed: ${listing_id}, ${url}${doubt}` : `Listed: ${listing_id}, ${url}`,
      paidUnits === 0n
        ? 'No fee was due.'
        : `The fee was ${formatUsdc(paidUnits)}${tx_hash === null ? '' : `, in ${tx_hash}`}.`,
    ],
    json: {
      market,
      listing_id,
      url,
      fee: { paid_units: paidUnits.toString(), tx_hash },
      already_listed: alreadyListed,
      verified,
      keywords: body.keywords ?? [],
    },
  };
}

export const sell: Command = {
  name: 'sell',
  summary:
    'lists a file of any size, or a folder as one tar archive, and pays the fee under the policy; run again to resume',
  positionals: [{ name: 'PATH', required: true }],
  options: [
    'title',
    'price',
    'description',
    'preview',
    'aisle',
    'tag',
    'keyword',
    'suggest-keywords',
    'license',
    'media-type',
    'seller-wallet',
    'supersedes',
    'entitle',
    'dry-run',
    'wallet',
    'max-fee',
    'pay-again',
    'pay-anew',
    ...MERCHANT_OPTIONS,
  ],
  examples: [
    'openaisle sell notes.md --title "Release notes" --price 0.5 --description "Of 40 projects." --aisle knowledge --dry-run',
    'openaisle sell my-skill --title "A skill" --price 2 --description "How to." --preview README.md --tag git --tag ci',
  ],
  run: sellPath,
};
