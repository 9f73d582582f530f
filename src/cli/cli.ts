import type { Client } from '../sdk/client.ts';
import { MarketError } from '../sdk/errors.ts';
import { SHORT_ACCOUNT } from '../sdk/pages.ts';
import { GLOBAL_OPTIONS, type OptionName, type Options } from './options.ts';
import type { Line } from './printable.ts';
import type { Terminal } from './terminal.ts';

/** Everything that a command gets from its surroundings. */
export interface Cli {
  options: Options;
  /** Words after the command's name. Their number has been checked. */
  positionals: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  terminal: Terminal;
  now(): number;
  connect(market: string, key?: string): Client;
  /** Prints lines on standard output before the command ends. Masks secrets and escapes control characters. */
  say(lines: readonly Line[]): void;
  /** Prints a progress line on standard error; silent with --json. */
  note(line: Line): void;
  /** Returns a signal for Ctrl-C. Once it was requested, the first Ctrl-C aborts it instead of ending the process. */
  interruption(): AbortSignal;
}

export type Connect = (key?: string) => Client;

export function connectTo(cli: Cli, market: string): Connect {
  return (key) => cli.connect(market, key);
}

export interface CommandOutput {
  lines: readonly Line[];
  /** JSON output without secrets; `status` is added later. Null if everything has been printed already. */
  json: Readonly<Record<string, unknown>> | null;
  /** Printed only with --reveal, on a terminal. */
  secrets?: readonly string[];
}

export interface Owner {
  merchantId: number;
  handle: string;
}

/** Returns the owner of a key, or null if the market refuses the key. */
export async function findOwner(connect: Connect, key: string): Promise<Owner | null> {
  try {
    const { merchant } = (await connect(key).getMe({ query: SHORT_ACCOUNT })).body;
    return { merchantId: merchant.id, handle: merchant.handle };
  } catch (error) {
    if (error instanceof MarketError && error.reason === 'key_invalid') return null;
    throw error;
  }
}

export interface Positional {
  /** Placeholder in capitals, such as `ID`. */
  name: string;
  required: boolean;
  /** True if it takes all remaining words. Only the last positional may. */
  variadic?: boolean;
}

/** One command. Arguments, help, completion and the table in docs/cli.md are derived from it. */
export interface Command {
  /** One word or two, such as `mod remove`. */
  name: string;
  summary: string;
  positionals: readonly Positional[];
  /** Options that the command takes in addition to `GLOBAL_OPTIONS`. */
  options: readonly OptionName[];
  /** Options of `GLOBAL_OPTIONS` that this command refuses. */
  without?: readonly OptionName[];
  examples: readonly string[];
  run(cli: Cli): Promise<CommandOutput>;
}

export function optionsOf({ options, without = [] }: Command): OptionName[] {
  const everywhere = GLOBAL_OPTIONS.filter((name) => !options.includes(name) && !without.includes(name));
  return [...options, ...everywhere];
}

/** Returns the usage line without options, such as `openaisle buy ID`. */
export function usageOf({ name, positionals }: Command): string {
  const parts = positionals.map(({ name: of, required, variadic }) => {
    const shown = variadic === true ? `${of}...` : of;
    return required ? shown : `[${shown}]`;
  });
  return ['openaisle', name, ...parts].join(' ');
}
