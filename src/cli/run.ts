import { createClient } from '../sdk/client.ts';
import { type Environment, systemEnvironment } from '../sdk/environment.ts';
import type { Cli } from './cli.ts';
import { type CliError, EXITS, toCliError, wrongUse } from './cli-error.ts';
import { COMMAND_GROUPS, COMMANDS } from './commands.ts';
import { helpOf, overview } from './help.ts';
import { ownNameOf } from './open-account.ts';
import type { Options } from './options.ts';
import { coloured, hideSecrets, jsonLine } from './printable.ts';
import { type Arguments, readArguments } from './read-arguments.ts';
import type { Terminal } from './terminal.ts';

export interface Surroundings {
  argv: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  version: string;
  terminal: Terminal;
  out(text: string): void;
  err(text: string): void;
  interruption(): AbortSignal;
  /** In place of the machine's own network and clock. */
  environment?: Partial<Environment>;
}

/** One command, and the exit code it ends with. Whatever is printed goes through `hideSecrets`, but what --reveal asks for. */
export async function run(around: Surroundings): Promise<number> {
  const { argv, env, terminal } = around;
  // What cannot be understood may still have asked for JSON.
  const asJson = (argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv).includes('--json');
  const colours = (isScreen: boolean): boolean => isScreen && !asJson && (env['NO_COLOR'] ?? '') === '';
  const say = printer(around.out, colours(terminal.canReveal));
  const complain = printer(around.err, colours(terminal.errorsOnScreen));
  try {
    const { command, positionals, options, asked } = readArguments(argv, COMMANDS);
    if (command === null || asked !== 'run') {
      say(told({ command, asked }, around.version, asJson));
      return 0;
    }
    mustMayReveal(options, terminal);
    const environment = { ...systemEnvironment, ...around.environment };
    const { now } = environment;
    const connect: Cli['connect'] = (baseUrl, key) => {
      const callsItself = ownNameOf({ options, env }, baseUrl);
      const known = { ...(key === undefined ? {} : { key }), ...(callsItself === undefined ? {} : { callsItself }) };
      return createClient({ baseUrl, environment, ...known });
    };
    const note = (line: string): void => (asJson ? undefined : complain([line]));
    const { interruption } = around;
    const done = await command.run({ options, positionals, env, terminal, now, connect, say, note, interruption });
    if (!asJson) say(done.lines);
    else if (done.json !== null) say([jsonLine({ status: 'ok', ...done.json })]);
    if (options.reveal === true) around.out(done.secrets.map((line) => `${line}\n`).join(''));
    return 0;
  } catch (error) {
    const failed = toCliError(error);
    if (asJson) say([jsonLine(jsonOf(failed))]);
    complain(linesOf(failed));
    return EXITS[failed.trouble];
  }
}

/** Cleans what is printed line by line, and colours it where that is wanted. */
function printer(out: (text: string) => void, inColour: boolean): (lines: readonly string[]) => void {
  return (lines) => {
    const clean = lines.flatMap((line) => hideSecrets(line).split('\n'));
    out(clean.map((line) => `${inColour ? coloured(line) : line}\n`).join(''));
  };
}

/** Help, or the version. */
function told({ command, asked }: Pick<Arguments, 'command' | 'asked'>, version: string, asJson: boolean): string[] {
  if (asked === 'version') return asJson ? [jsonLine({ status: 'ok', version })] : [version];
  const lines = command === null ? overview(COMMAND_GROUPS) : helpOf(command);
  return asJson ? [jsonLine({ status: 'ok', help: lines.join('\n') })] : lines;
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
  const { reason, title, detail, nextStep, file, errors, retryAfterSeconds, requestId, doNotPayAgain, more } = parts;
  return {
    ...more,
    status: trouble,
    reason,
    title,
    detail,
    next_step: nextStep,
    do_not_pay_again: doNotPayAgain,
    file,
    errors,
    retry_after_seconds: retryAfterSeconds ?? undefined,
    request_id: requestId ?? undefined,
  };
}

function linesOf({ trouble, parts }: CliError): string[] {
  const { reason, title, detail, nextStep, file, errors, retryAfterSeconds } = parts;
  const verdict =
    reason === 'not_connected'
      ? 'not done'
      : { refused: 'refused', wrong_use: 'not done', unknown: 'outcome unknown' }[trouble];
  return [
    `${verdict}: ${title} (${reason})`,
    ...(detail === undefined || detail === title ? [] : [detail]),
    ...(errors ?? []).map(({ path, message }) => `  ${path}: ${message}`),
    ...(retryAfterSeconds == null ? [] : [`Try again after ${retryAfterSeconds} seconds.`]),
    ...(nextStep === undefined ? [] : [`next: ${nextStep}`]),
    ...(file === undefined ? [] : [`file: ${file}`]),
  ];
}
