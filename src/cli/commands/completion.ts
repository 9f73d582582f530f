import type { Cli, Command, Done } from '../cli.ts';
import { wrongUse } from '../cli-error.ts';
import { EVERYWHERE, OPTIONS, type OptionName, specOf } from '../options.ts';

const SHELLS = ['bash', 'zsh'] as const;

/** The command that prints the completion of a shell, over the table that it stands in itself. */
export function completionOver(all: () => readonly Command[]): Command {
  return {
    name: 'completion',
    summary: 'prints the completion script of bash or zsh',
    positionals: [{ name: 'SHELL', required: true }],
    options: [],
    examples: ['source <(openaisle completion bash)', 'openaisle completion zsh > ~/.zsh/completions/_openaisle'],
    run: async ({ positionals: [given] }: Cli): Promise<Done> => {
      const shell = SHELLS.find((one) => one === given);
      if (shell === undefined) throw wrongUse(`There is completion for ${SHELLS.join(' and ')}`);
      const script = shell === 'bash' ? bashScript(all()) : zshScript(all());
      return { lines: script, json: { shell, script: script.join('\n') }, secrets: [] };
    },
  };
}

function flagsOf(command: Command): string {
  return [...command.options, ...EVERYWHERE].map((name) => `--${name}`).join(' ');
}

/** One line of a shell's `case` for each option that takes a value. */
function valueCases(ofChoices: (choices: string) => string, files: string, nothing: string): string[] {
  return (Object.keys(OPTIONS) as OptionName[])
    .filter((name) => specOf(name).type === 'string')
    .map((name) => {
      const { choices, value } = specOf(name);
      const isPath = value === 'FILE' || value === 'DIR';
      const act = choices === undefined ? (isPath ? files : nothing) : ofChoices(choices.join(' '));
      return `    --${name}) ${act} ;;`;
    });
}

function words(commands: readonly Command[]): { first: string; seconds: string[][] } {
  const first = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))];
  const seconds = first.flatMap((word) => {
    const after = commands.flatMap(({ name }) => (name.startsWith(`${word} `) ? [name.slice(word.length + 1)] : []));
    return after.length === 0 ? [] : [[word, after.join(' ')]];
  });
  return { first: [...first, 'help'].join(' '), seconds };
}

/** `$word`, `$before`, `$first` and `$second` are set before these. */
function flagCases(commands: readonly Command[], complete: (list: string) => string): string[] {
  return commands.map((command) => {
    const [first = '', second] = command.name.split(' ');
    return `    '${first} ${second ?? ''}'${second === undefined ? '*' : ''}) ${complete(flagsOf(command))} ;;`;
  });
}

function bashScript(commands: readonly Command[]): string[] {
  const { first, seconds } = words(commands);
  const reply = (list: string): string => `COMPREPLY=($(compgen -W '${list}' -- "$word"))`;
  const files = 'COMPREPLY=($(compgen -f -- "$word"))';
  return [
    '# openaisle completion bash',
    '_openaisle() {',
    '  local word=$2 before=$3 first second',
    '  read -r _ first second _ <<< "$COMP_LINE"',
    '  COMPREPLY=()',
    '  case $before in',
    ...valueCases((choices) => `${reply(choices)}; return`, `${files}; return`, 'return'),
    '  esac',
    `  if [ "$COMP_CWORD" -eq 1 ]; then ${reply(first)}; return; fi`,
    ...seconds.map(
      ([of, after]) => `  if [ "$COMP_CWORD" -eq 2 ] && [ "$first" = ${of} ]; then ${reply(after ?? '')}; return; fi`,
    ),
    `  case $word in -*) ;; *) ${files}; return ;; esac`,
    '  case "$first $second" in',
    ...flagCases(commands, reply),
    '  esac',
    '}',
    'complete -o filenames -F _openaisle openaisle',
  ];
}

function zshScript(commands: readonly Command[]): string[] {
  const { first, seconds } = words(commands);
  const add = (list: string): string => `compadd -- ${list}`;
  return [
    '#compdef openaisle',
    '_openaisle() {',
    '  local word=$words[CURRENT] before=$words[CURRENT-1] first=$words[2] second=$words[3]',
    '  case $before in',
    ...valueCases((choices) => `${add(choices)}; return`, '_files; return', 'return'),
    '  esac',
    `  if (( CURRENT == 2 )); then ${add(first)}; return; fi`,
    ...seconds.map(
      ([of, after]) => `  if (( CURRENT == 3 )) && [[ $first == ${of} ]]; then ${add(after ?? '')}; return; fi`,
    ),
    '  case $word in -*) ;; *) _files; return ;; esac',
    '  case "$first $second" in',
    ...flagCases(commands, add),
    '  esac',
    '}',
    'compdef _openaisle openaisle',
  ];
}
