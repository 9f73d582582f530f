import { parseArgs } from 'node:util';
import { named, ofOwner, ofSource, own } from '../contract/own-words.ts';
import { type Command, optionsOf, usageOf } from './cli.ts';
import { wrongUse } from './cli-error.ts';
import { FILE_PLACEHOLDERS, OPTIONS, type OptionName, type Options, specOf } from './options.ts';
import { holdsSecret } from './printable.ts';

export interface Arguments {
  /** Null if the version or general help is to be shown. */
  command: Command | null;
  positionals: readonly string[];
  options: Options;
  mode: 'run' | 'help' | 'version';
}

/** Parses the command line. Refuses a secret on it first, because other users of the machine can read it there. */
export function readArguments(args: readonly string[], commands: readonly Command[]): Arguments {
  mustHoldNoSecret(args);
  const { values: options, positionals: words } = parse(args);
  if (options.version === true) return { command: null, positionals: [], options, mode: 'version' };
  const typed = words[0] === 'help' ? words.slice(1) : words;
  if (typed.length === 0) return { command: null, positionals: [], options, mode: 'help' };
  const command = findCommand(typed, commands);
  const positionals = typed.slice(command.name.split(' ').length);
  if (options.help === true || typed !== words) return { command, positionals, options, mode: 'help' };
  mustTakeOptions(command, options);
  mustFitTogether(options);
  mustFitPositionals(command, positionals);
  mustHoldNoWalletKey(command, positionals, options);
  return { command, positionals, options, mode: 'run' };
}

function findCommand(words: readonly string[], commands: readonly Command[]): Command {
  const [first = '', second] = words;
  const match =
    commands.find(({ name }) => name === `${first} ${second}`) ?? commands.find(({ name }) => name === first);
  if (match !== undefined) return match;
  const family = commands.filter(({ name }) => name.startsWith(`${first} `));
  const names = (family.length > 0 ? family : commands).map(({ name }) => name).join(', ');
  throw wrongUse(
    own`There is no command ${ofOwner(words.slice(0, 2).join(' '))}. Commands: ${ofSource(names)}`,
    own`Run openaisle help for an overview.`,
  );
}

function mustTakeOptions(command: Command, options: Options): void {
  const taken = optionsOf(command);
  for (const option of Object.keys(options) as OptionName[]) {
    if (!taken.includes(option))
      throw wrongUse(
        own`${ofSource(command.name)} doesn’t take --${named(option)}`,
        own`Run openaisle ${ofSource(command.name)} --help for its options.`,
      );
  }
}

function mustFitPositionals(command: Command, words: readonly string[]): void {
  const { positionals } = command;
  const needed = positionals.filter(({ required }) => required);
  const [missing] = needed.slice(words.length);
  const isEndless = positionals.some(({ variadic }) => variadic === true);
  const tooMany = !isEndless && words.length > positionals.length;
  if (missing === undefined && !tooMany) return;
  const what =
    missing === undefined
      ? own`${ofSource(command.name)} doesn’t take ${ofOwner(words[positionals.length] ?? '')}`
      : own`${ofSource(missing.name)} is missing`;
  throw wrongUse(what, own`Usage: ${ofSource(usageOf(command))}`);
}

/** Matches a private key. Transaction hashes look the same, so only arguments that name files are checked. */
const WALLET_KEY = /^(?:0x)?[0-9a-f]{64}$/i;

/** Refuses a key given in place of its file, because an error about a missing file would print the key. */
function mustHoldNoWalletKey({ positionals }: Command, words: readonly string[], options: Options): void {
  const inOptions = Object.entries(options).filter(([name]) => FILE_PLACEHOLDERS.has(specOf(name as OptionName).value));
  const paths = words.filter((_, index) => FILE_PLACEHOLDERS.has(positionals[index]?.name));
  const values = [...inOptions.flatMap(([, value]) => value), ...paths];
  if (!values.some((value) => typeof value === 'string' && WALLET_KEY.test(value))) return;
  throw wrongUse(
    own`A wallet’s private key is on the command line, where other programs and your shell history can see it: treat it as leaked`,
    own`Move the wallet’s funds to another wallet. Pass keys by file (--wallet FILE) or in OPENAISLE_WALLET_KEY.`,
    'secret_on_command_line',
  );
}

function mustHoldNoSecret(args: readonly string[]): void {
  if (!args.some(holdsSecret)) return;
  throw wrongUse(
    own`A key or code is on the command line, where other programs and your shell history can see it: treat it as leaked`,
    own`Replace a key with openaisle rotate, recovery codes with openaisle codes. Pass secrets by file, --key-stdin or --code-stdin.`,
    'secret_on_command_line',
  );
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    const message = error instanceof Error ? (error.message.split('. ')[0] ?? '') : '';
    throw wrongUse(ofOwner(message), own`Run openaisle help for an overview.`);
  }
}

function mustFitTogether(options: Options): void {
  const refuseBoth = (one: OptionName, other: OptionName): void => {
    if (options[one] !== undefined && options[other] !== undefined)
      throw wrongUse(own`--${named(one)} and --${named(other)} can’t be combined`);
  };
  refuseBoth('json', 'reveal');
  refuseBoth('key-only', 'code-stdin');
  refuseBoth('resume', 'key-stdin');
  refuseBoth('resume', 'code-stdin');
  refuseBoth('keyword', 'suggest-keywords');
  if (options['new-handle'] !== undefined && options.resume !== true) throw wrongUse(own`--new-handle needs --resume`);
  for (const [name, value] of Object.entries(options)) {
    if ([value].flat().includes('')) throw wrongUse(own`--${ofSource(name)} is empty`);
    const { choices } = specOf(name as OptionName);
    if (typeof value === 'string' && choices?.includes(value) === false)
      throw wrongUse(own`--${ofSource(name)} must be ${ofSource(choices.join(' or '))}`);
  }
}
