import { SHORT_ACCOUNT } from '../../sdk/pages.ts';
import type { Cli, Command, CommandOutput } from '../cli.ts';
import { resumeCommand } from '../finish-pending-change.ts';
import { secretsOf } from '../identity.ts';
import { type Account, openAccount, refusalOf } from '../open-account.ts';
import { MERCHANT_OPTIONS } from '../options.ts';
import { nameOf } from '../printable.ts';

async function showAccount(cli: Cli): Promise<CommandOutput> {
  const account = await openAccount(cli);
  const { market, key, path, content } = account;
  const request = cli.connect(market, key).getMe({ query: SHORT_ACCOUNT });
  const { body: me } = await request.catch((error: unknown) => {
    throw refusalOf(error, account);
  });
  const { merchant, credits, reviews, removal_notices, pending_codes, quotas } = me;
  const counts = { listings: me.listings_total, sales: me.sales_total, purchases: me.purchases_total };
  const warnings = warningsOf(account, pending_codes);
  return {
    lines: [
      `${nameOf(merchant.handle, merchant.maintainer)}, merchant ${merchant.id} at ${market}, since ${merchant.joined_at}`,
      `listings ${counts.listings}, sales ${counts.sales}, purchases ${counts.purchases}, fee credits ${credits}`,
      `payments to decide ${reviews.length}, removals ${removal_notices.length}`,
      ...Object.entries(quotas).map(([name, { used, limit }]) => `${name.replaceAll('_', ' ')}: ${used} of ${limit}`),
      ...(path === null ? [] : [`file ${path}`]),
      ...warnings.map((warning) => `warning: ${warning}`),
    ],
    json: {
      market,
      merchant,
      ...counts,
      credits,
      reviews: reviews.length,
      removal_notices: removal_notices.length,
      quotas,
      pending_codes,
      file: path,
      pending: content?.pending?.door ?? null,
      warnings,
    },
    secrets: content === null ? [] : secretsOf(content),
  };
}

function warningsOf({ path, content }: Account, codes: { valid_at: string } | null): string[] {
  const warnings: string[] = [];
  if (codes !== null) {
    const own = content?.waiting_codes?.valid_from === codes.valid_at;
    warnings.push(
      own
        ? `new recovery codes, made from this file, become valid at ${codes.valid_at}`
        : `someone made new recovery codes with this key, and they aren’t in this file; they become valid at ${codes.valid_at}. If that wasn’t you, run openaisle recover with an old code before then`,
    );
  }
  if (content?.pending != null && path !== null)
    warnings.push(`the file has an unconfirmed key change; run ${resumeCommand(content.pending, path)}`);
  if (content?.codes_in_doubt_since != null)
    warnings.push(
      `new recovery codes were requested at ${content.codes_in_doubt_since} and the answer was lost, so the codes in the file may be invalid; run openaisle codes, or openaisle codes --key-only if it refuses them`,
    );
  return warnings;
}

export const whoami: Command = {
  name: 'whoami',
  summary: 'shows your account and any warnings',
  positionals: [],
  options: [...MERCHANT_OPTIONS, 'reveal'],
  examples: ['openaisle whoami', 'openaisle whoami --handle ink --json'],
  run: showAccount,
};
