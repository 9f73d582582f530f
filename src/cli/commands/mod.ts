import { APPEAL_OUTCOMES } from '../../contract/appeals.ts';
import { inQuotes } from '../../contract/foreign-words.ts';
import type { Review } from '../../contract/merchants.ts';
import { REMOVAL_REASON_CODES } from '../../contract/moderation.ts';
import { ofSource, own } from '../../contract/own-words.ts';
import { SHORT_ACCOUNT } from '../../sdk/pages.ts';
import type { Cli, Command, CommandOutput } from '../cli.ts';
import { wrongUse } from '../cli-error.ts';
import { callAsMerchant } from '../open-account.ts';
import { MERCHANT_OPTIONS } from '../options.ts';
import { countText, foreignLine, quoteLines, tableOf } from '../printable.ts';
import { readId } from '../read-values.ts';

export const modRemove: Command = {
  name: 'mod remove',
  summary: 'maintainer: removes a listing, or clears a comment, a store line or an appeal’s statement',
  positionals: [{ name: 'ID', required: true }],
  options: [...MERCHANT_OPTIONS, 'code', 'reason', 'comment', 'store-line', 'statement'],
  examples: [
    'openaisle mod remove 7 --code spam --reason "The same text for the fourth time."',
    'openaisle mod remove 12 --comment --code policy --reason "An insult."',
    'openaisle mod remove 3 --store-line --code spam --reason "An advertisement."',
  ],
  run: (cli: Cli): Promise<CommandOutput> => {
    const id = readId(cli.positionals[0]);
    const { code, reason, comment: isComment, 'store-line': isLine, statement: isStatement } = cli.options;
    const reason_code = REMOVAL_REASON_CODES.find((one) => one === code);
    if (reason_code === undefined || reason === undefined) throw wrongUse(own`mod remove needs --code and --reason`);
    if ([isComment, isLine, isStatement].filter(Boolean).length > 1) {
      throw wrongUse(own`mod remove takes only one of --comment, --store-line and --statement`);
    }
    return callAsMerchant(cli, async (client, { market }) => {
      if (isLine === true || isStatement === true) {
        const target_type = isLine === true ? 'store_line' : 'appeal';
        const { removal } = (await client.removeText({ body: { target_type, target_id: id, reason_code, reason } }))
          .body;
        const what = isLine === true ? `The store line of ${removal.merchant}` : `The statement of appeal ${id}`;
        return { lines: [`${what} was cleared.`], json: { market, removal } };
      }
      if (isComment === true) {
        const { comment } = (await client.removeComment({ body: { comment_id: id, reason_code, reason } })).body;
        return { lines: [`Comment ${id} was cleared.`], json: { market, comment } };
      }
      const { listing } = (await client.removeListing({ body: { listing_id: id, reason_code, reason } })).body;
      return {
        lines: [foreignLine(`Removed listing ${id}: ${inQuotes(listing.title)}`)],
        json: { market, listing },
      };
    });
  },
};

export const modPin: Command = {
  name: 'mod pin',
  summary: 'maintainer: pins a listing above the others, or unpins it',
  positionals: [{ name: 'ID', required: true }],
  options: [...MERCHANT_OPTIONS, 'off'],
  examples: ['openaisle mod pin 7', 'openaisle mod pin 7 --off'],
  run: (cli: Cli): Promise<CommandOutput> => {
    const [id, pinned] = [readId(cli.positionals[0]), cli.options.off !== true];
    return callAsMerchant(cli, async (client, { market }) => {
      const { listing } = (await client.pinListing({ body: { listing_id: id, pinned } })).body;
      return { lines: [`Listing ${id} is ${pinned ? 'pinned' : 'no longer pinned'}.`], json: { market, listing } };
    });
  },
};

export const modDecide: Command = {
  name: 'mod decide',
  summary: `maintainer: decides an appeal, once: ${APPEAL_OUTCOMES.join(' or ')}`,
  positionals: [
    { name: 'APPEAL', required: true },
    { name: 'OUTCOME', required: true },
  ],
  options: [...MERCHANT_OPTIONS, 'reason'],
  examples: ['openaisle mod decide 3 restored --reason "It is the author’s own text."'],
  run: (cli: Cli): Promise<CommandOutput> => {
    const appeal_id = readId(cli.positionals[0], 'APPEAL');
    const outcome = APPEAL_OUTCOMES.find((one) => one === cli.positionals[1]);
    const { reason } = cli.options;
    if (outcome === undefined) throw wrongUse(own`OUTCOME must be ${ofSource(APPEAL_OUTCOMES.join(' or '))}`);
    if (reason === undefined) throw wrongUse(own`mod decide needs --reason`);
    return callAsMerchant(cli, async (client, { market }) => {
      const { appeal, listing } = (await client.decideAppeal({ body: { appeal_id, outcome, reason } })).body;
      const lines = [`Decided appeal ${appeal_id}: ${outcome}. Listing ${listing.id} is ${listing.state}.`];
      return { lines, json: { market, appeal, listing } };
    });
  },
};

export const REVIEW_DECISIONS = ['deliver', 'refunded', 'declined'] as const;

export const modReviews: Command = {
  name: 'mod reviews',
  summary: `lists payments that await your decision; with PAYMENT and DECISION (${REVIEW_DECISIONS.join(', ')}), decides one`,
  positionals: [
    { name: 'PAYMENT', required: false },
    { name: 'DECISION', required: false },
  ],
  options: [...MERCHANT_OPTIONS, 'refund-tx', 'reason'],
  examples: [
    'openaisle mod reviews',
    'openaisle mod reviews 41 deliver',
    'openaisle mod reviews 41 refunded --refund-tx 0x…',
  ],
  run: (cli: Cli): Promise<CommandOutput> => (cli.positionals.length === 0 ? listReviews(cli) : decideReview(cli)),
};

function listReviews(cli: Cli): Promise<CommandOutput> {
  return callAsMerchant(cli, async (client, { market }) => {
    const { reviews, flags } = (await client.getMe({ query: SHORT_ACCOUNT })).body;
    const rows = reviews.map(
      ({ payment_id, purpose, listing_id, asked_usdc, received_usdc, payer_wallet, reason, decide_by }) => [
        String(payment_id),
        listing_id === null ? purpose : `${purpose} ${listing_id}`,
        `${received_usdc} of ${asked_usdc} USDC`,
        payer_wallet,
        decide_by,
        reason,
      ],
    );
    return {
      lines: [
        ...(rows.length === 0
          ? []
          : tableOf([['PAYMENT', 'FOR', 'RECEIVED', 'PAYER', 'DECIDE BY', 'REASON'], ...rows])),
        ...reviews.flatMap(({ payment_id, further_transfers = [] }) =>
          further_transfers.map((further) => `payment ${payment_id}: ${describeFurther(further)}`),
        ),
        `${countText(reviews.length, 'payment')} to decide`,
        ...flags.map(({ target_type, target_id, handle, reason }) =>
          foreignLine(`flag on ${target_type} ${target_id} by ${handle}: ${inQuotes(reason, 200)}`),
        ),
      ],
      json: { market, reviews, flags },
    };
  });
}

type FurtherTransfer = NonNullable<Review['further_transfers']>[number];

/** Describes another transfer by the same payer, which the seller should know before deciding. */
function describeFurther({ amount_usdc: amount, tx_hash, claimed }: FurtherTransfer): string {
  const received = amount === null ? 'a transfer that isn’t final yet' : `${amount} USDC`;
  return `the payer also sent ${received}, ${tx_hash}${claimed ? ', and claims it for the same purchase' : ''}`;
}

function decideReview(cli: Cli): Promise<CommandOutput> {
  const payment_id = readId(cli.positionals[0], 'PAYMENT');
  const outcome = REVIEW_DECISIONS.find((one) => one === cli.positionals[1]);
  if (outcome === undefined) throw wrongUse(own`DECISION must be ${ofSource(REVIEW_DECISIONS.join(', '))}`);
  const { 'refund-tx': tx_hash, reason: note } = cli.options;
  const body = { outcome, ...(tx_hash === undefined ? {} : { tx_hash }), ...(note === undefined ? {} : { note }) };
  return callAsMerchant(cli, async (client, { market }) => {
    const { payment } = (await client.reviewPayment({ params: { payment_id }, body })).body;
    const lines = [
      `Decided payment ${payment_id}: ${outcome}. Its status is ${payment.payment_status}.`,
      ...quoteLines(payment.next_step),
    ];
    return { lines, json: { market, payment } };
  });
}
