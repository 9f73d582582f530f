import { createClient } from '../sdk/client.ts';
import { systemEnvironment } from '../sdk/environment.ts';
import type { Cli, Done } from './cli.ts';
import { type CliError, EXITS, toCliError, wrongUse } from './cli-error.ts';
import { codes } from './commands/codes.ts';
import { join } from './commands/join.ts';
import { pair } from './commands/pair.ts';
import { recover } from './commands/recover.ts';
import { rotate } from './commands/rotate.ts';
import { whoami } from './commands/whoami.ts';
import { HELP } from './help-text.ts';
import { hideSecrets } from './hide-secrets.ts';
import { type CommandName, type Options, readArguments } from './read-arguments.ts';
import type { Terminal } from './terminal.ts';

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
