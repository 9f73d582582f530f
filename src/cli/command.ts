import type { Cli, Done } from './cli.ts';
import type { OptionName } from './options.ts';

export interface Positional {
  /** In capitals in help: `ID`. */
  name: string;
  required: boolean;
  /** It takes all that follow; only the last one may. */
  variadic?: boolean;
}

/** One row of the table of commands: arguments, help, completion and the table in docs/cli.md are made from it. */
export interface Command {
  /** One word, or two: `mod remove`. */
  name: string;
  /** One line. */
  summary: string;
  positionals: readonly Positional[];
  /** Beside those that every command takes. */
  options: readonly OptionName[];
  /** Whole command lines. */
  examples: readonly string[];
  run(cli: Cli): Promise<Done>;
}

/** How a command is typed, without its options. */
export function usageOf({ name, positionals }: Command): string {
  const parts = positionals.map(({ name: of, required, variadic }) => {
    const shown = variadic === true ? `${of}...` : of;
    return required ? shown : `[${shown}]`;
  });
  return ['openaisle', name, ...parts].join(' ');
}
