import { readKind } from '../../agent/export/export-folder.ts';
import { type Imported, importStore } from '../../agent/export/import-store.ts';
import { type ImportPlan, planImport } from '../../agent/export/plan-import.ts';
import { importPurchases } from '../../agent/export/purchases.ts';
import { readStore, type StoredStore } from '../../agent/export/read-store.ts';
import { readPolicy } from '../../agent/policy.ts';
import { inQuotes } from '../../contract/foreign-words.ts';
import { formatUsdc, usdcOfUnits } from '../../contract/money.ts';
import { formed, own } from '../../contract/own-words.ts';
import type { Client } from '../../sdk/client.ts';
import type { Cli, Command, CommandOutput } from '../cli.ts';
import { CliError } from '../cli-error.ts';
import { callAsMerchant, namedMarket } from '../open-account.ts';
import { openBook, openWalletSession, toPaymentError } from '../open-wallet-session.ts';
import { MERCHANT_OPTIONS } from '../options.ts';
import { countText, foreignLine, type Line } from '../printable.ts';
import { readUsdc } from '../read-values.ts';

async function runImport(cli: Cli): Promise<CommandOutput> {
  const [dir = ''] = cli.positionals;
  if ((await readKind(dir)) === 'purchases') return importBook(cli, dir);
  const store = await readStore(dir);
  return callAsMerchant(cli, (client, { market }) => importInto(cli, client, market, store));
}

async function importBook(cli: Cli, dir: string): Promise<CommandOutput> {
  const isDry = cli.options['dry-run'] === true;
  const book = await openBook(cli);
  const named = namedMarket(cli);
  const { markets } = await readPolicy(cli.env);
  const isTrusted = (market: string): boolean => market === named || markets?.includes(market) === true;
  const done = await importPurchases(book, dir, { restore: !isDry, isTrusted, now: cli.now });
  const { restored, kept, leftOut, isSigned } = done;
  const open = restored.filter(({ state }) => state === 'signed').length;
  return {
    lines: [
      isDry
        ? `The export has ${countText(restored.length, 'payment')} of ${book.address}, all intact. Nothing was restored.`
        : `Restored ${countText(restored.length, 'payment')} of ${book.address}; ${kept} were already here.`,
      ...(open === 0 ? [] : [`${open} of them are in progress: run openaisle wait to resume.`]),
      ...(leftOut === 0
        ? []
        : [`warning: skipped ${countText(leftOut, 'record')} that this wallet’s book can’t have written`]),
      ...(isSigned
        ? []
        : [
            'warning: the wallet didn’t sign this export, so anyone may have made it. Older versions didn’t sign exports.',
            'Its finished purchases are not verified. openaisle verify GOODS checks them with the market; so does openaisle buy.',
          ]),
    ],
    json: {
      kind: 'purchases',
      wallet: book.address,
      ...(isDry ? { dry_run: true } : {}),
      signed: isSigned,
      restored: restored.map(({ kind, market, listing_id, title, state }) => ({
        kind,
        market,
        listing_id,
        title,
        state,
      })),
      kept,
      left_out: leftOut,
    },
  };
}

async function importInto(cli: Cli, client: Client, market: string, store: StoredStore): Promise<CommandOutput> {
  const plan = await planImport(client, store);
  const planLines = sayPlan(store, plan, market);
  const json = { market, kind: 'store', from: { market: store.content.market, handle: store.content.handle } };
  if (cli.options['dry-run'] === true)
    return {
      lines: [...plan.planned.map((one) => foreignLine(sayPlanned(one))), ...planLines, 'Nothing was listed or paid.'],
      json: { ...json, dry_run: true, would_cost_usdc_at_most: usdcOfUnits(plan.mostUnits), listings: rowsOf(plan) },
    };
  const hasNothingToList = plan.planned.every(({ act }) => act !== 'list');
  if (!hasNothingToList) await mustAgree(cli, plan, planLines);
  const imported = hasNothingToList ? importNothing(plan) : await listPlanned(cli, client, plan);
  return reportImport(imported, json);
}

/** Reports a plan that has nothing to list, without opening a wallet. */
function importNothing(plan: ImportPlan): Imported[] {
  return plan.planned.flatMap((one): Imported[] => {
    const { id, title } = one.stored.listing;
    if (one.act === 'there') return [{ id, title, outcome: 'there', listingId: one.listingId, state: one.state }];
    return one.act === 'list' ? [] : [{ id, title, outcome: 'left_out', why: one.why }];
  });
}

async function listPlanned(cli: Cli, client: Client, plan: ImportPlan): Promise<Imported[]> {
  const session = await openWalletSession(cli);
  const maxFeeUsdc = readUsdc(cli.options['max-fee'], 'max-fee');
  return await importStore({
    ...session,
    client,
    plan,
    ...(maxFeeUsdc === undefined ? {} : { maxFeeUsdc }),
    onDone: (done, { done: count, of }) => cli.note(foreignLine(`${count} of ${of}: ${sayImported(done)}`)),
  }).catch((error: unknown) => {
    throw toPaymentError(error, session.wallet, own`the same openaisle import`);
  });
}

function sayPlan({ content }: StoredStore, { planned, mostUnits, sellerWallets }: ImportPlan, market: string): Line[] {
  const count = (act: string): number => planned.filter((one) => one.act === act).length;
  const toList = count('list');
  return [
    foreignLine(
      `Importing store ${inQuotes(content.handle, 32)} of ${inQuotes(content.market)}, exported ${formed('time', content.completed_at ?? '')}, into ${market}:`,
    ),
    `${toList} to list, ${count('there')} already there, ${count('left_out')} skipped`,
    ...(toList === 0 ? [] : [`buyers will pay ${sellerWallets.join(', ')}`]),
    mostUnits === 0n ? 'No fee is due.' : `Fees: at most ${formatUsdc(mostUnits)}.`,
  ];
}

/** Throws unless a person agrees to the fees, at the terminal or with --yes. */
async function mustAgree(
  { options, terminal, note }: Cli,
  { mostUnits }: ImportPlan,
  planLines: Line[],
): Promise<void> {
  for (const line of planLines) note(line);
  if (mostUnits === 0n || options.yes === true) return;
  const cost = formatUsdc(mostUnits);
  if (terminal.canAsk && (await terminal.ask(`Pay up to ${cost} in fees? (yes/no)`)).toLowerCase() === 'yes') return;
  throw new CliError('refused', {
    reason: terminal.canAsk ? 'not_confirmed' : 'needs_person',
    title: own`Listing this costs up to ${cost} in fees, which nobody has agreed to. Nothing was listed or paid`,
    nextStep: own`Check it with --dry-run, then agree with --yes.`,
  });
}

function reportImport(imported: readonly Imported[], json: Record<string, unknown>): CommandOutput {
  const refused = imported.filter((one) => one.outcome === 'refused');
  const paid = imported.reduce((sum, one) => sum + (one.outcome === 'listed' ? one.paidUnits : 0n), 0n);
  const lines = [...imported.map((one) => foreignLine(sayImported(one))), `Fees paid: ${formatUsdc(paid)}.`];
  if (refused.length === 0)
    return { lines, json: { ...json, paid_usdc: usdcOfUnits(paid), listings: imported.map(jsonOf) } };
  throw new CliError('refused', {
    reason: 'not_all_listed',
    title: own`The market refused ${refused.length} of ${imported.length} listings`,
    lines,
    nextStep: own`The others are listed. Run the same command to try the refused ones again.`,
    more: { ...json, paid_usdc: usdcOfUnits(paid), listings: imported.map(jsonOf) },
  });
}

function sayPlanned(one: ImportPlan['planned'][number]): string {
  const { id, title } = one.stored.listing;
  const what = {
    list: () => 'to list',
    there: () => `already there, ${'listingId' in one ? one.listingId : ''}`,
    left_out: () => `skipped: ${'why' in one ? SKIP_REASONS[one.why] : ''}`,
  }[one.act]();
  return `${id}  ${inQuotes(title, 60)}  ${what}`;
}

const SKIP_REASONS = { not_live: 'it wasn’t live when exported', thing: 'a city thing can’t be moved' } as const;

function sayImported(one: Imported): string {
  const title = `${one.id}  ${inQuotes(one.title, 60)}`;
  if (one.outcome === 'listed') return `${title}  listed: ${one.listingId}, ${one.url}`;
  if (one.outcome === 'there') return `${title}  already there: ${one.listingId} (${one.state})`;
  if (one.outcome === 'left_out') return `${title}  skipped: ${SKIP_REASONS[one.why]}`;
  return `${title}  refused: ${one.reason}: ${inQuotes(one.why, 200)}`;
}

function jsonOf(one: Imported): Record<string, unknown> {
  const { id, title, outcome } = one;
  if (one.outcome === 'listed') {
    const { listingId: listing_id, url, paidUnits, txHash: tx_hash } = one;
    return { id, title, outcome, listing_id, url, paid_units: paidUnits.toString(), tx_hash };
  }
  if (one.outcome === 'there') return { id, title, outcome, listing_id: one.listingId, state: one.state };
  return one.outcome === 'left_out' ? { id, title, outcome, why: one.why } : { id, title, outcome, reason: one.reason };
}

function rowsOf({ planned }: ImportPlan): Record<string, unknown>[] {
  return planned.map((one) => {
    const { id, title } = one.stored.listing;
    if (one.act === 'there') return { id, title, act: one.act, listing_id: one.listingId, state: one.state };
    return one.act === 'list' ? { id, title, act: one.act } : { id, title, act: one.act, why: one.why };
  });
}

export const importCommand: Command = {
  name: 'import',
  summary: 'lists what an export has and this market lacks, under the policy; or restores what a wallet bought',
  positionals: [{ name: 'DIR', required: true }],
  options: ['dry-run', 'yes', 'wallet', 'max-fee', 'pay-again', 'pay-anew', ...MERCHANT_OPTIONS],
  examples: [
    'openaisle import store-of-ink --dry-run',
    'openaisle import store-of-ink --yes --json',
    'openaisle import bought',
  ],
  run: runImport,
};
