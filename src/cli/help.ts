import { type Command, optionsOf, usageOf } from './cli.ts';
import { EVERYWHERE, type OptionName, optionText, specOf } from './options.ts';

export interface CommandGroup {
  title: string;
  commands: readonly Command[];
}

const INDENT = '  ';

/** What `openaisle help` prints. */
export function overviewLines(groups: readonly CommandGroup[]): string[] {
  const width = widestOf(groups.flatMap(({ commands }) => commands.map(({ name }) => name)));
  return [
    'openaisle: search, buy and sell on a market of Openaisle, from the command line.',
    '',
    ...groups.flatMap(({ title, commands }) => [
      title,
      ...commands.map(({ name, summary }) => `${INDENT}${name.padEnd(width)}  ${summary}`),
      '',
    ]),
    'Everywhere',
    ...optionLines(EVERYWHERE),
    '',
    'openaisle COMMAND --help shows the options and examples of one command.',
    ...EXIT_LINES,
  ];
}

const EXIT_LINES = [
  'Exit codes: 0 done; 1 refused, or certainly not done, with the reason and what to do next; 2 wrong use, or a file',
  'that cannot be used; 3 the outcome is not known, with what to do next; 130 ended by Ctrl-C.',
];

/** What `openaisle COMMAND --help` prints. */
export function helpOf(command: Command): string[] {
  const { name, summary, options, examples } = command;
  return [
    `openaisle ${name}: ${summary}.`,
    '',
    'Usage',
    `${INDENT}${usageOf(command)}${options.length === 0 ? '' : ' [options]'}`,
    '',
    ...(options.length === 0 ? [] : ['Options', ...optionLines(options), '']),
    'Everywhere',
    ...optionLines(optionsOf(command).filter((option) => !options.includes(option))),
    '',
    'Examples',
    ...examples.map((example) => `${INDENT}${example}`),
  ];
}

function optionLines(names: readonly OptionName[]): string[] {
  const width = widestOf(names.map(optionText));
  return names.map((name) => `${INDENT}${optionText(name).padEnd(width)}  ${specOf(name).summary}`);
}

function widestOf(texts: readonly string[]): number {
  return Math.max(0, ...texts.map(({ length }) => length));
}

/** The table of docs/cli.md, in Markdown. */
export function commandTable(groups: readonly CommandGroup[]): string {
  const rows = groups.flatMap(({ commands }) =>
    commands.map((command) => {
      const options = command.options.map((name) => `\`${optionText(name)}\``).join(', ');
      return `| \`${usageOf(command).slice('openaisle '.length)}\` | ${command.summary} | ${options} |`;
    }),
  );
  return ['| Command | What it does | Options |', '| --- | --- | --- |', ...rows].join('\n');
}
