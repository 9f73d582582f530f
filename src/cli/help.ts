import { type Command, optionsOf, usageOf } from './cli.ts';
import { GLOBAL_OPTIONS, type OptionName, optionText, specOf } from './options.ts';

export interface CommandGroup {
  title: string;
  commands: readonly Command[];
}

const INDENT = '  ';

export function overviewLines(groups: readonly CommandGroup[]): string[] {
  const width = widestOf(groups.flatMap(({ commands }) => commands.map(({ name }) => name)));
  return [
    'openaisle: search, buy and sell on an Openaisle market from the command line.',
    '',
    ...groups.flatMap(({ title, commands }) => [
      title,
      ...commands.map(({ name, summary }) => `${INDENT}${name.padEnd(width)}  ${summary}`),
      '',
    ]),
    'Global options',
    ...optionLines(GLOBAL_OPTIONS),
    '',
    'Run openaisle COMMAND --help for the options and examples of a command.',
    ...EXIT_LINES,
  ];
}

const EXIT_LINES = [
  'Exit codes: 0 done; 1 refused, certainly not done; 2 wrong use, or an unusable file; 3 outcome unknown; 130 ended by',
  'Ctrl-C. Every failure says why and what to do next.',
];

export function helpOf(command: Command): string[] {
  const { name, summary, options, examples } = command;
  return [
    `openaisle ${name}: ${summary}.`,
    '',
    'Usage',
    `${INDENT}${usageOf(command)}${options.length === 0 ? '' : ' [options]'}`,
    '',
    ...(options.length === 0 ? [] : ['Options', ...optionLines(options), '']),
    'Global options',
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

export function commandTable(groups: readonly CommandGroup[]): string {
  const rows = groups.flatMap(({ commands }) =>
    commands.map((command) => {
      const options = command.options.map((name) => `\`${optionText(name)}\``).join(', ');
      return `| \`${usageOf(command).slice('openaisle '.length)}\` | ${command.summary} | ${options} |`;
    }),
  );
  return ['| Command | What it does | Options |', '| --- | --- | --- |', ...rows].join('\n');
}
