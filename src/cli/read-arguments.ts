import { parseArgs } from 'node:util';
import { named, ofOwner, ofSource, own } from '../contract/own-words.ts';
import { type Command, optionsOf, usageOf } from './cli.ts';
import { wrongUse } from './cli-error.ts';
import { OPTIONS, type OptionName, type Options, specOf } from './options.ts';
import { holdsSecret } from './printable.ts';

export interface Arguments {
  /** Null: none was named, or help on all of them was asked for. */
  command: Command | null;
  /** What stands after the command's name. */
  positionals: readonly string[];
  options: Options;
  asked: 'run' | 'help' | 'version';
}

/** What the user asks for. A secret on the command line is refused before anything else: other users of the machine can read it there. */
export function readArguments(given: readonly string[], commands: readonly Command[]): Arguments {
  mustHoldNoSecret(given);
  const { values: options, positionals: words } = parse(given);
  if (options.version === true) return { command: null, positionals: [], options, asked: 'version' };
  const typed = words[0] === 'help' ? words.slice(1) : words;
  if (typed.length === 0) return { command: null, positionals: [], options, asked: 'help' };
  const command = findCommand(typed, commands);
  const positionals = typed.slice(command.name.split(' ').length);
  if (options.help === true || typed !== words) return { command, positionals, options, asked: 'help' };
  mustTake(command, options);
  mustFitTogether(options);
  mustCount(command, positionals);
  mustNameFiles(command, positionals, options);
  return { command, positionals, options, asked: 'run' };
}

/** The command of the first one or two words. */
function findCommand(words: readonly string[], commands: readonly Command[]): Command {
  const [first = '', second] = words;
  const found =
    commands.find(({ name }) => name === `${first} ${second}`) ?? commands.find(({ name }) => name === first);
  if (found !== undefined) return found;
  const family = commands.filter(({ name }) => name.startsWith(`${first} `));
  const names = (family.length > 0 ? family : commands).map(({ name }) => name).join(', ');
  throw wrongUse(
    own`There is no command ${ofOwner(words.slice(0, 2).join(' '))}. There are: ${ofSource(names)}`,
    own`openaisle help tells more.`,
  );
}

function mustTake(command: Command, options: Options): void {
  const taken = optionsOf(command);
  for (const option of Object.keys(options) as OptionName[]) {
    if (!taken.includes(option))
      throw wrongUse(
        own`${ofSource(command.name)} does not take --${named(option)}`,
        own`openaisle ${ofSource(command.name)} --help tells more.`,
      );
  }
}

function mustCount(command: Command, given: readonly string[]): void {
  const { positionals } = command;
  const needed = positionals.filter(({ required }) => required);
  const [missing] = needed.slice(given.length);
  const isEndless = positionals.some(({ variadic }) => variadic === true);
  const tooMany = !isEndless && given.length > positionals.length;
  if (missing === undefined && !tooMany) return;
  const what =
    missing === undefined
      ? own`${ofSource(command.name)} takes no ${ofOwner(given[positionals.length] ?? '')}`
      : own`${ofSource(missing.name)} is missing`;
  throw wrongUse(what, own`Usage: ${ofSource(usageOf(command))}`);
}

/** Also without its `0x`. A hash of a transaction looks the same: only what names a file is judged by it. */
const WALLET_KEY = /^(?:0x)?[0-9a-f]{64}$/i;
const OF_FILES: ReadonlySet<string | undefined> = new Set(['FILE', 'DIR', 'PATH', 'GOODS']);

/** A key in the place of the file that holds it would be told as a file that is not there. */
function mustNameFiles({ positionals }: Command, given: readonly string[], options: Options): void {
  const inOptions = Object.entries(options).filter(([name]) => OF_FILES.has(specOf(name as OptionName).value));
  const paths = given.filter((_, index) => OF_FILES.has(positionals[index]?.name));
  const values = [...inOptions.flatMap(([, value]) => value), ...paths];
  if (!values.some((value) => typeof value === 'string' && WALLET_KEY.test(value))) return;
  throw wrongUse(
    own`The private key of a wallet stands on the command line, where other programs and the history of the shell can see it: treat it as leaked`,
    own`Move what the wallet holds to another one. Hand a key in by a file (--wallet FILE) or by OPENAISLE_WALLET_KEY.`,
    'secret_on_command_line',
  );
}

function mustHoldNoSecret(given: readonly string[]): void {
  if (!given.some(holdsSecret)) return;
  throw wrongUse(
    own`A key or a code stands on the command line, where other programs and the history of the shell can see it: treat it as leaked`,
    own`Replace it: a key with openaisle rotate, recovery codes with openaisle codes. Hand secrets in by file, --key-stdin or --code-stdin.`,
    'secret_on_command_line',
  );
}

function parse(given: readonly string[]) {
  try {
    return parseArgs({ args: [...given], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    const said = error instanceof Error ? (error.message.split('. ')[0] ?? '') : '';
    throw wrongUse(ofOwner(said), own`openaisle help tells more.`);
  }
}

function mustFitTogether(options: Options): void {
  const both = (one: OptionName, other: OptionName): void => {
    if (options[one] !== undefined && options[other] !== undefined)
      throw wrongUse(own`--${named(one)} and --${named(other)} do not go together`);
  };
  both('json', 'reveal');
  both('key-only', 'code-stdin');
  both('resume', 'key-stdin');
  both('resume', 'code-stdin');
  if (options['new-handle'] !== undefined && options.resume !== true) throw wrongUse(own`--new-handle needs --resume`);
  for (const [name, value] of Object.entries(options)) {
    if ([value].flat().includes('')) throw wrongUse(own`--${ofSource(name)} is empty`);
    const { choices } = specOf(name as OptionName);
    if (typeof value === 'string' && choices?.includes(value) === false)
      throw wrongUse(own`--${ofSource(name)} must be ${ofSource(choices.join(' or '))}`);
  }
}
