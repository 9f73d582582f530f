import type { Client } from '../sdk/client.ts';
import type { Options } from './read-arguments.ts';
import type { Terminal } from './terminal.ts';

/** What a command works with. */
export interface Cli {
  options: Options;
  env: Readonly<Record<string, string | undefined>>;
  terminal: Terminal;
  now(): number;
  connect(market: string, key?: string): Client;
}

/** A client of one market, with a key or without. */
export type Connect = (key?: string) => Client;

export function connectTo(cli: Cli, market: string): Connect {
  return (key) => cli.connect(market, key);
}

/** What a command that is done has to say. */
export interface Done {
  lines: readonly string[];
  /** Without secrets. */
  json: Readonly<Record<string, unknown>>;
  /** Printed only with --reveal, on a terminal. */
  secrets: readonly string[];
}
