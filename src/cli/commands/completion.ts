import { APPEAL_OUTCOMES } from '../../contract/appeals.ts';
import { FLAG_TARGETS } from '../../contract/feedback.ts';
import { ofSource, own } from '../../contract/own-words.ts';
import { type Cli, type Command, type CommandOutput, optionsOf } from '../cli.ts';
import { wrongUse } from '../cli-error.ts';
import { FILE_PLACEHOLDERS, GLOBAL_OPTIONS, OPTIONS, type OptionName, specOf } from '../options.ts';
import { REVIEW_DECISIONS } from './mod.ts';

const SHELLS = ['bash', 'zsh'] as const;

/** Makes the completion command. `all` is a function because the table of commands includes this command. */
export function createCompletionCommand(all: () => readonly Command[]): Command {
  return {
    name: 'completion',
    summary: 'prints the completion script for bash or zsh',
    positionals: [{ name: 'SHELL', required: true }],
    options: [],
    examples: ['source <(openaisle completion bash)', 'openaisle completion zsh > ~/.zsh/completions/_openaisle'],
    run: async ({ positionals: [name] }: Cli): Promise<CommandOutput> => {
      const shell = SHELLS.find((one) => one === name);
      if (shell === undefined) throw wrongUse(own`SHELL must be ${ofSource(SHELLS.join(' or '))}`);
      const script = shell === 'bash' ? bashScript(all()) : zshScript(all());
      return { lines: script, json: { shell, script: script.join('\n') } };
    },
  };
}

/** Allowed values of arguments, by placeholder. */
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  TARGET: FLAG_TARGETS,
  OUTCOME: APPEAL_OUTCOMES,
  DECISION: REVIEW_DECISIONS,
  SHELL: SHELLS,
};

/** Shell code that offers words or files. */
interface ShellOffer {
  words(list: readonly string[]): string;
  files: string;
}

const VALUE_OPTIONS = (Object.keys(OPTIONS) as OptionName[]).filter((name) => specOf(name).type === 'string');
const VALUE_OPTION_PATTERN = VALUE_OPTIONS.map((name) => `--${name}`).join('|');

function optionFlags(names: readonly OptionName[]): string[] {
  return names.map((name) => `--${name}`);
}

/** Completes an option's value; `$before` is the word before the cursor. */
function valueCases({ words, files }: ShellOffer): string[] {
  const cases = VALUE_OPTIONS.map((name) => {
    const { choices, value = '' } = specOf(name);
    const offered = choices === undefined ? (FILE_PLACEHOLDERS.has(value) ? `${files}; ` : '') : `${words(choices)}; `;
    return `    --${name}) ${offered}return ;;`;
  });
  return ['  case $before in', ...cases, '  esac'];
}

/**
 * Completes everything else, in code that both shells understand. `$word` is at the cursor. `$first`, `$second` and `$count` describe the
 * arguments before it, without options, their values and a leading `help`, which sets `$help`.
 */
function argumentCases(commands: readonly Command[], { words, files }: ShellOffer): string[] {
  const names = commands.map(({ name }) => name);
  const firsts = [...new Set(names.map((name) => name.split(' ')[0] ?? ''))];
  const families = firsts.flatMap((first) => {
    const seconds = names.filter((name) => name.startsWith(`${first} `)).map((name) => name.slice(first.length + 1));
    if (seconds.length === 0) return [];
    const offered = `if [ $count -eq 1 ]; then ${words(seconds)}; return; fi`;
    return [`    ${first}) ${offered}; name="$first $second" at=$((count - 2)) ;;`];
  });
  const positionalCases = commands.flatMap(({ name, positionals }) =>
    positionals.flatMap(({ name: of }, at) => {
      const choices = CHOICES[of];
      const offered = choices === undefined ? (FILE_PLACEHOLDERS.has(of) ? files : null) : words(choices);
      return offered === null ? [] : [`    '${name} ${at}') ${offered} ;;`];
    }),
  );
  return [
    '  local name=$first at=$((count - 1))',
    '  if [ $count -eq 0 ]; then',
    `    case $help$word in 0-*) ${words(optionFlags(GLOBAL_OPTIONS))} ;; 0*) ${words([...firsts, 'help'])} ;; *) ${words(firsts)} ;; esac`,
    '    return',
    '  fi',
    '  case $first in',
    ...families,
    '  esac',
    '  if [ $help = 1 ]; then return; fi',
    '  case $word in -*)',
    '    case $name in',
    ...commands.map((command) => `    '${command.name}') ${words(optionFlags(optionsOf(command)))} ;;`),
    '    esac',
    '    return ;;',
    '  esac',
    '  case "$name $at" in',
    ...positionalCases,
    '  esac',
  ];
}

function bashScript(commands: readonly Command[]): string[] {
  const offer: ShellOffer = {
    words: (list) => `COMPREPLY=($(compgen -W '${list.join(' ')}' -- "$word"))`,
    files: `local IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$word"))`,
  };
  return [
    '# openaisle completion bash',
    '_openaisle() {',
    '  local word=$2 before=$3 help=0 skip=0 i one',
    '  local -a given=()',
    '  COMPREPLY=()',
    '  # Bash splits --class=value and https://address at their = and :.',
    `  if [ "$before" = = ]; then before=\${COMP_WORDS[COMP_CWORD-2]}; elif [ "$word" = = ]; then word=; fi`,
    ...valueCases(offer),
    '  for ((i = 1; i < COMP_CWORD; i++)); do',
    `    one=\${COMP_WORDS[i]}`,
    '    case $one in [:=]*) skip=1; continue ;; esac',
    '    if [ $skip = 1 ]; then skip=0; continue; fi',
    `    case $one in ${VALUE_OPTION_PATTERN}) skip=1 ;; -*) ;; *) given+=("$one") ;; esac`,
    '  done',
    '  if [ $skip = 1 ]; then return; fi',
    `  if [ "\${given[0]}" = help ]; then help=1; given=("\${given[@]:1}"); fi`,
    `  local first=\${given[0]} second=\${given[1]} count=\${#given[@]}`,
    ...argumentCases(commands, offer),
    '}',
    'complete -o filenames -F _openaisle openaisle',
  ];
}

function zshScript(commands: readonly Command[]): string[] {
  const offer: ShellOffer = { words: (list) => `compadd -- ${list.join(' ')}`, files: '_files' };
  return [
    '#compdef openaisle',
    '_openaisle() {',
    '  local word=$words[CURRENT] before=$words[CURRENT-1] help=0 skip=0 one',
    '  local -a given',
    ...valueCases(offer),
    `  for one in "\${(@)words[2,CURRENT-1]}"; do`,
    '    if [ $skip = 1 ]; then skip=0; continue; fi',
    `    case $one in ${VALUE_OPTION_PATTERN}) skip=1 ;; -*) ;; *) given+=("$one") ;; esac`,
    '  done',
    '  if [[ $given[1] == help ]]; then help=1; shift given; fi',
    '  local first=$given[1] second=$given[2] count=$#given',
    ...argumentCases(commands, offer),
    '}',
    '# Autoloaded from fpath, this file is the body of _openaisle and completes at once. Sourced, it registers the function.',
    'if [ "$funcstack[1]" = _openaisle ]; then _openaisle "$@"; else compdef _openaisle openaisle; fi',
  ];
}
