import { createClient } from '../sdk/client.ts';
import { systemEnvironment } from '../sdk/environment.ts';
import { UnreadableAnswer } from '../sdk/errors.ts';
import { type Cli, connectTo, type Done, SHORT_ACCOUNT } from './cli.ts';
import { type CliError, EXITS, toCliError, wrongUse } from './cli-error.ts';
import { codes } from './commands/codes.ts';
import { join } from './commands/join.ts';
import { pair } from './commands/pair.ts';
import { recover } from './commands/recover.ts';
import { findFile, marketOf, namedFile, noIdentity } from './find-file.ts';
import { type Finished, resumeCommand } from './finish-stage.ts';
import { secretsOf } from './identity.ts';
import { type Account, openAccount, readKey, refusalOf } from './open-account.ts';
import { type CommandName, hideSecrets, type Options, readArguments } from './read-arguments.ts';
import { pendingOf, resumeDoor, runDoor } from './run-door.ts';
import type { Terminal } from './terminal.ts';

/** How the merchant stands, in a few lines. */
async function whoami(cli: Cli): Promise<Done> {
  const account = await openAccount(cli);
  const { market, key, path, content } = account;
  const { body: me } = await connectTo(
    cli,
    market,
  )(key)
    .getMe({ query: SHORT_ACCOUNT })
    .catch((error: unknown) => {
      throw refusalOf(error, account);
    });
  const { merchant, credits, reviews, removal_notices, pending_codes, quotas } = me;
  const counts = { listings: me.listings_total, sales: me.sales_total, purchases: me.purchases_total };
  const warnings = warningsOf(account, pending_codes);
  return {
    lines: [
      `${merchant.handle}, merchant ${merchant.id}${merchant.maintainer ? ' (maintainer)' : ''} at ${market}, since ${merchant.joined_at}`,
      `listings ${counts.listings}, sales ${counts.sales}, purchases ${counts.purchases}, fee credits ${credits}`,
      `payments to decide on ${reviews.length}, removals ${removal_notices.length}`,
      ...Object.entries(quotas).map(([name, { used, limit }]) => `${name} ${used} of ${limit}`),
      ...(path === null ? [] : [`file ${path}`]),
      ...warnings.map((warning) => `warning: ${warning}`),
    ],
    json: {
      status: 'ok',
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
        ? `new recovery codes, made from this file, come in force at ${codes.valid_at}`
        : `new recovery codes, not in this file, were made with this key and come in force at ${codes.valid_at}; if that was not you, run openaisle recover with an old code before then`,
    );
  }
  if (content?.pending != null && path !== null)
    warnings.push(`something begun is not known to be confirmed: ${resumeCommand(content.pending, path)}`);
  if (content?.codes_in_doubt_since != null)
    warnings.push(
      `new recovery codes were asked for at ${content.codes_in_doubt_since} and never seen; the codes in the file may be over: openaisle codes --key-only`,
    );
  return warnings;
}

/** Puts a new key in the place of the current one. Until the confirm is known the file holds both. */
async function rotate(cli: Cli): Promise<Done> {
  const { options } = cli;
  if (options.resume === true) return told(await resumeDoor(cli, { path: await findFile(cli), door: 'rotate' }));
  const given = options['key-stdin'] === true ? await readKey(cli) : null;
  // With a key of its own no file is needed: the answer tells whose it is.
  const path = given === null ? await findFile(cli) : namedFile(cli);
  return told(
    await runDoor(cli, {
      path,
      market: (content, at) => marketOf(cli, content, at),
      begin: async (content, market) => {
        const currentKey = given ?? content?.merchant_key ?? null;
        if (currentKey === null)
          throw noIdentity(`There is no key in ${path}`, 'Name another file, or use --key-stdin.');
        const { body: staged } = await connectTo(cli, market)()
          .rotate({ key: currentKey, body: { action: 'begin' } })
          .catch((error: unknown) => {
            throw toCliError(error);
          });
        if (staged.status !== 'staged') throw new UnreadableAnswer('unexpected', 'the answer is not one to a begin');
        return { pending: pendingOf('rotate', staged), handle: staged.handle, currentKey };
      },
    }),
  );
}

function told({ path, content }: Finished): Done {
  const { handle, merchant_id, market } = content;
  return {
    lines: [
      `${handle} has a new key, in ${path}. The old one is over everywhere.`,
      'The recovery codes stay. What was linked to the hosted connector has to be paired again.',
    ],
    json: { status: 'confirmed', market, handle, merchant_id, file: path },
    secrets: secretsOf(content),
  };
}

const COMMANDS: Readonly<Record<CommandName, (cli: Cli) => Promise<Done>>> = {
  join,
  rotate,
  recover,
  codes,
  pair,
  whoami,
};

export interface Surroundings {
  argv: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  version: string;
  terminal: Terminal;
  out(text: string): void;
  err(text: string): void;
}

/** One command, and the exit code it ends with. Whatever is printed goes through `hideSecrets`, but what --reveal asks for. */
export async function run(around: Surroundings): Promise<number> {
  const { argv, env, terminal } = around;
  const say = (lines: readonly string[]): void => around.out(lines.map((line) => `${hideSecrets(line)}\n`).join(''));
  // What cannot be understood may still have asked for JSON.
  const asJson = argv.includes('--json');
  try {
    const { command, options } = readArguments(argv);
    if (command === null) {
      say([options.version === true ? around.version : HELP.trimEnd()]);
      return 0;
    }
    mustMayReveal(options, terminal);
    const now = systemEnvironment.now;
    const connect: Cli['connect'] = (baseUrl, key) => createClient(key === undefined ? { baseUrl } : { baseUrl, key });
    const done = await COMMANDS[command]({ options, env, terminal, now, connect });
    say(asJson ? [JSON.stringify(done.json)] : done.lines);
    if (options.reveal === true) around.out(done.secrets.map((line) => `${line}\n`).join(''));
    return 0;
  } catch (error) {
    const told = toCliError(error);
    if (asJson) say([JSON.stringify(jsonOf(told))]);
    around.err(
      linesOf(told)
        .map((line) => `${hideSecrets(line)}\n`)
        .join(''),
    );
    return EXITS[told.trouble];
  }
}

function mustMayReveal(options: Options, terminal: Terminal): void {
  if (options.reveal === true && !terminal.canReveal)
    throw wrongUse(
      '--reveal shows secrets on a terminal only: this output is a file or a pipe',
      'Read them from the file.',
      'no_terminal',
    );
}

function jsonOf({ trouble, parts }: CliError): Record<string, unknown> {
  const { reason, title, detail, nextStep, file, errors, retryAfterSeconds, requestId } = parts;
  return {
    status: trouble,
    reason,
    title,
    detail,
    next_step: nextStep,
    file,
    errors,
    retry_after_seconds: retryAfterSeconds ?? undefined,
    request_id: requestId ?? undefined,
  };
}

function linesOf({ trouble, parts }: CliError): string[] {
  const { reason, title, detail, nextStep, file, errors, retryAfterSeconds } = parts;
  const verdict = { refused: 'refused', wrong_use: 'not done', unknown: 'outcome unknown' }[trouble];
  return [
    `${verdict}: ${title} (${reason})`,
    ...(detail === undefined || detail === title ? [] : [detail]),
    ...(errors ?? []).map(({ path, message }) => `  ${path}: ${message}`),
    ...(retryAfterSeconds == null ? [] : [`Try again after ${retryAfterSeconds} seconds.`]),
    ...(nextStep === undefined ? [] : [`next: ${nextStep}`]),
    ...(file === undefined ? [] : [`file: ${file}`]),
  ];
}

const HELP = `openaisle: a merchant's key, its recovery codes and its standing, from the command line.

  openaisle join      opens a store: a new key and eight recovery codes, saved before they are confirmed
  openaisle rotate    puts a new key in the place of the current one; the codes stay
  openaisle recover   a new key and eight new codes, by one of the recovery codes
  openaisle codes     eight new recovery codes: at once with one of the old ones, after 72 hours with the key alone
  openaisle pair      a code to type on the hosted connector's page: one use, ten minutes
  openaisle whoami    how the merchant stands

Where
  --market URL        the market's address (or OPENAISLE_MARKET; a file knows its own)
  --handle NAME       the merchant: its file is ~/.config/openaisle/<market host>/<handle>.json (XDG_CONFIG_HOME is honoured)
  --file FILE         another file than that
  --out FILE          join, recover: the same as --file. pair: the file for the code
  --allow-http        also without TLS to a machine other than this one

join
  --model NAME, --class coding_persistent|coding_ephemeral
  --human-approved    a human has approved that this store is opened
  --new-handle NAME   with --resume, when the handle was taken meanwhile

Going on after an interruption
  join|rotate|recover --resume   finishes what was saved and not confirmed, or tells that it is over

Secrets come from the file, or by
  --key-stdin         the current key is the first line of the standard input (rotate, codes, pair, whoami)
  --code-stdin        a recovery code is the next line of it (recover, codes)
  --key-only          codes: do not use a recovery code of the file
and never from the command line. On a terminal they are typed unseen.

What is said
  --json              one JSON object, without secrets
  --reveal            print the secrets as well; only on a terminal
  --help, --version

Exit codes: 0 done; 1 refused, with the reason and what to do next; 2 wrong use, or a file that cannot be used;
3 the outcome is not known, with what to do next.
`;
