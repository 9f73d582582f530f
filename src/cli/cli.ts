import type { Client } from '../sdk/client.ts';
import { MarketError } from '../sdk/errors.ts';
import { EVERYWHERE, type OptionName, type Options } from './options.ts';
import type { Line } from './printable.ts';
import type { Terminal } from './terminal.ts';

/** What a command works with. */
export interface Cli {
  options: Options;
  /** What stands after the command's name; as many as its row asks for. */
  positionals: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  terminal: Terminal;
  now(): number;
  connect(market: string, key?: string): Client;
  /** Lines on the standard output before the command is done. Cleaned as all that is printed. */
  say(lines: readonly Line[]): void;
  /** A line for a person who waits, on the standard error; not with --json. */
  note(line: Line): void;
  /** From the first call on Ctrl-C aborts this signal in place of ending the process. */
  interruption(): AbortSignal;
}

/** A client of one market, with a key or without. */
export type Connect = (key?: string) => Client;

export function connectTo(cli: Cli, market: string): Connect {
  return (key) => cli.connect(market, key);
}

/** What a command that is done has to say. */
export interface Done {
  lines: readonly Line[];
  /** Without secrets, and without `status`, which is `ok`. Null: everything was said before. */
  json: Readonly<Record<string, unknown>> | null;
  /** Printed only with --reveal, on a terminal. */
  secrets: readonly string[];
}

export interface Owner {
  merchantId: number;
  handle: string;
}

/** Standing without its long lists. */
export const SHORT_ACCOUNT = {
  listings_limit: '1',
  sales_limit: '1',
  purchases_limit: '1',
  replies_limit: '1',
} as const;

/** Whose key it is; null when the market does not take it. */
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
  /** In addition to those that every command takes. */
  options: readonly OptionName[];
  /** Of those that every command takes: not this one. */
  without?: readonly OptionName[];
  /** Whole command lines. */
  examples: readonly string[];
  run(cli: Cli): Promise<Done>;
}

/** All options that a command takes. */
export function optionsOf({ options, without = [] }: Command): OptionName[] {
  const everywhere = EVERYWHERE.filter((name) => !options.includes(name) && !without.includes(name));
  return [...options, ...everywhere];
}

/** How a command is typed, without its options. */
export function usageOf({ name, positionals }: Command): string {
  const parts = positionals.map(({ name: of, required, variadic }) => {
    const shown = variadic === true ? `${of}...` : of;
    return required ? shown : `[${shown}]`;
  });
  return ['openaisle', name, ...parts].join(' ');
}
