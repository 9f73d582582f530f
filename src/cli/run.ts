import { own } from '../contract/own-words.ts';
import { createClient } from '../sdk/client.ts';
import { type Environment, systemEnvironment } from '../sdk/environment.ts';
import type { Cli } from './cli.ts';
import { type CliError, EXITS, toCliError, wrongUse } from './cli-error.ts';
import { COMMAND_GROUPS, COMMANDS } from './commands.ts';
import { helpOf, overviewLines } from './help.ts';
import { ownNameOf } from './open-account.ts';
import type { Options } from './options.ts';
import { colourLine, foldLine, foreignLine, hideSecrets, jsonLine, type Line, quotedMarket } from './printable.ts';
import { type Arguments, readArguments } from './read-arguments.ts';
import type { Terminal } from './terminal.ts';

export interface RunEnvironment {
  argv: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  version: string;
  terminal: Terminal;
  out(text: string): void;
  err(text: string): void;
  interruption(): AbortSignal;
  /** Replaces parts of the machine's network and clock, for tests. */
  environment?: Partial<Environment>;
}

/** Runs one command and returns its exit code. All output goes through `hideSecrets`, except what --reveal prints. */
export async function run(surroundings: RunEnvironment): Promise<number> {
  const { argv, env, terminal } = surroundings;
  // Decided before parsing, because errors in the arguments must be JSON too.
  const asJson = (argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv).includes('--json');
  const colours = (isScreen: boolean): boolean => isScreen && !asJson && (env['NO_COLOR'] ?? '') === '';
  const say = createPrinter(surroundings.out, {
    inColour: colours(terminal.canReveal),
    columns: () => (asJson ? undefined : terminal.columns?.().out),
  });
  const printErrors = createPrinter(surroundings.err, {
    inColour: colours(terminal.errorsOnScreen),
    columns: () => terminal.columns?.().errors,
  });
  try {
    const { command, positionals, options, mode } = readArguments(argv, COMMANDS);
    if (command === null || mode !== 'run') {
      say(helpOrVersion({ command, mode }, surroundings.version, asJson));
      return 0;
    }
    mustMayReveal(options, terminal);
    const environment = { ...systemEnvironment, ...surroundings.environment };
    const { now } = environment;
    const connect: Cli['connect'] = (baseUrl, key) => {
      const callsItself = ownNameOf({ options, env }, baseUrl);
      const optional = { ...(key === undefined ? {} : { key }), ...(callsItself === undefined ? {} : { callsItself }) };
      return createClient({ baseUrl, environment, ...optional });
    };
    const note = (line: Line): void => (asJson ? undefined : printErrors([line]));
    const { interruption } = surroundings;
    const done = await command.run({ options, positionals, env, terminal, now, connect, say, note, interruption });
    if (!asJson) say(done.lines);
    else if (done.json !== null) surroundings.out(`${jsonLine({ status: 'ok', ...done.json })}\n`);
    if (options.reveal === true) surroundings.out((done.secrets ?? []).map((line) => `${line}\n`).join(''));
    return 0;
  } catch (error) {
    const failed = toCliError(error);
    if (asJson) surroundings.out(`${jsonLine(jsonOf(failed))}\n`);
    printErrors(linesOf(failed));
    return EXITS[failed.trouble];
  }
}

interface Screen {
  inColour: boolean;
  /** Undefined if this isn't a screen; lines aren't wrapped then. */
  columns(): number | undefined;
}

function createPrinter(out: (text: string) => void, { inColour, columns }: Screen): (lines: readonly Line[]) => void {
  return (lines) => {
    const most = columns() ?? null;
    const rows = lines.flatMap((line) => {
      const [text, width] = typeof line === 'string' ? [line, null] : [line.foreign, most];
      const [first = '', ...others] = foldLine(hideSecrets(text), width);
      return [inColour ? colourLine(first) : first, ...others];
    });
    out(rows.map((row) => `${row}\n`).join(''));
  };
}

function helpOrVersion(
  { command, mode }: Pick<Arguments, 'command' | 'mode'>,
  version: string,
  asJson: boolean,
): string[] {
  if (mode === 'version') return asJson ? [jsonLine({ status: 'ok', version })] : [version];
  const lines = command === null ? overviewLines(COMMAND_GROUPS) : helpOf(command);
  return asJson ? [jsonLine({ status: 'ok', help: lines.join('\n') })] : lines;
}

function mustMayReveal(options: Options, terminal: Terminal): void {
  if (options.reveal === true && !terminal.canReveal)
    throw wrongUse(
      own`--reveal prints secrets to a terminal only, and this output is a file or a pipe`,
      own`Read them in the merchant’s file.`,
      'no_terminal',
    );
}

function jsonOf({ trouble, parts }: CliError): Record<string, unknown> {
  const { reason, title, detail, nextStep, market, file, retryAfterSeconds, requestId, doNotPayAgain, more } = parts;
  return {
    ...more,
    status: trouble,
    reason,
    title,
    detail,
    next_step: nextStep,
    do_not_pay_again: doNotPayAgain,
    market_says: market,
    file,
    retry_after_seconds: retryAfterSeconds ?? undefined,
    request_id: requestId ?? undefined,
  };
}

function linesOf({ trouble, parts }: CliError): Line[] {
  const { reason, title, detail, nextStep, market, lines = [], file, retryAfterSeconds } = parts;
  const verdict =
    reason === 'not_connected'
      ? 'not done'
      : { refused: 'refused', wrong_use: 'not done', unknown: 'outcome unknown' }[trouble];
  return [
    `${verdict}: ${title} (${reason})`,
    ...(detail === undefined || detail === title ? [] : [detail]),
    ...lines,
    ...(market === undefined ? [] : quotedMarket(market)),
    ...(retryAfterSeconds == null ? [] : [`Try again after ${retryAfterSeconds} seconds.`]),
    ...(nextStep === undefined ? [] : [`next: ${nextStep}`]),
    ...(file === undefined ? [] : [foreignLine(`file: ${file}`)]),
  ];
}
