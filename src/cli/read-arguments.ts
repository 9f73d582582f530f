import { parseArgs } from 'node:util';
import { wrongUse } from './cli-error.ts';

export const COMMANDS = ['join', 'rotate', 'recover', 'codes', 'pair', 'whoami'] as const;
export type CommandName = (typeof COMMANDS)[number];

const OPTIONS = {
  market: { type: 'string' },
  handle: { type: 'string' },
  file: { type: 'string' },
  out: { type: 'string' },
  'allow-http': { type: 'boolean' },
  model: { type: 'string' },
  class: { type: 'string' },
  'human-approved': { type: 'boolean' },
  'new-handle': { type: 'string' },
  resume: { type: 'boolean' },
  'key-stdin': { type: 'boolean' },
  'code-stdin': { type: 'boolean' },
  'key-only': { type: 'boolean' },
  json: { type: 'boolean' },
  reveal: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;
type OptionName = keyof typeof OPTIONS;

const EVERYWHERE: readonly OptionName[] = [
  'market',
  'handle',
  'file',
  'allow-http',
  'json',
  'reveal',
  'help',
  'version',
];
const TAKES: Readonly<Record<CommandName, readonly OptionName[]>> = {
  join: ['out', 'model', 'class', 'human-approved', 'new-handle', 'resume'],
  rotate: ['resume', 'key-stdin'],
  recover: ['out', 'resume', 'code-stdin'],
  codes: ['key-stdin', 'code-stdin', 'key-only'],
  pair: ['out', 'key-stdin'],
  whoami: ['key-stdin'],
};

/** Options as parseArgs names them; an absent one is undefined. */
export type Options = { readonly [N in OptionName]?: (typeof OPTIONS)[N]['type'] extends 'string' ? string : boolean };

export interface Arguments {
  /** Null: help, or the version, was asked for. */
  command: CommandName | null;
  options: Options;
}

/** What the user asks for. A secret on the command line is refused before anything else: other users of the machine can read it there. */
export function readArguments(given: readonly string[]): Arguments {
  mustHoldNoSecret(given);
  const { values: options, positionals } = parse(given);
  if (options.help === true || options.version === true) return { command: null, options };
  const [name, ...rest] = positionals;
  const command = COMMANDS.find((one) => one === name);
  if (command === undefined || rest.length > 0)
    throw wrongUse(`Name one command: ${COMMANDS.join(', ')}`, 'openaisle --help tells more.');
  for (const option of Object.keys(options) as OptionName[]) {
    if (!EVERYWHERE.includes(option) && !TAKES[command].includes(option))
      throw wrongUse(`${command} does not take --${option}`, 'openaisle --help tells more.');
  }
  mustFitTogether(options);
  return { command, options };
}

function mustHoldNoSecret(given: readonly string[]): void {
  if (!given.some(holdsSecret)) return;
  throw wrongUse(
    'A key or a code stands on the command line, where other programs and the history of the shell can see it: treat it as leaked',
    'Replace it: a key with openaisle rotate, recovery codes with openaisle codes. Hand secrets in by file, --key-stdin or --code-stdin.',
    'secret_on_command_line',
  );
}

function parse(given: readonly string[]) {
  try {
    return parseArgs({ args: [...given], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    const said = error instanceof Error ? (error.message.split('. ')[0] ?? '') : '';
    throw wrongUse(said, 'openaisle --help tells more.');
  }
}

function mustFitTogether(options: Options): void {
  const both = (one: OptionName, other: OptionName): void => {
    if (options[one] !== undefined && options[other] !== undefined)
      throw wrongUse(`--${one} and --${other} do not go together`);
  };
  both('json', 'reveal');
  both('key-only', 'code-stdin');
  both('resume', 'key-stdin');
  both('resume', 'code-stdin');
  if (options['new-handle'] !== undefined && options.resume !== true) throw wrongUse('--new-handle needs --resume');
  for (const [name, value] of Object.entries(options)) if (value === '') throw wrongUse(`--${name} is empty`);
}

/** What looks like a key or a code of any market, whole or cut off: the prefix is the market's own choice (W3). */
const SECRET_SHAPE = /[a-z][a-z0-9]{1,15}_(?:sk_[0-9a-z]{16,}|(?:rc|pc)_[0-9a-z]{5}-[0-9a-z]{5}[0-9a-z-]*)/gi;
/** Characters that move the cursor, colour text or turn its direction; what a market says is printed without them. */
const UNPRINTABLE = /(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/gu;

function holdsSecret(text: string): boolean {
  return text.search(SECRET_SHAPE) !== -1;
}

/** For everything that is printed but what --reveal asks for. */
export function hideSecrets(text: string): string {
  return text.replace(UNPRINTABLE, '').replace(SECRET_SHAPE, '[secret]');
}
