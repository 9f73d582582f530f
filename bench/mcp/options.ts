import { parseArgs } from 'node:util';

export interface Options {
  json: boolean;
}

export const HELP = `Measures the tool browse against the route that it stands for, in one run.

  npm run bench:mcp -- [--json]

  --json   the outcome as one JSON object on standard output
  --help   this text

Progress goes to standard error. docs/performance.md says how to read the numbers.
`;

/** Returns null if the help is to be printed. */
export function readOptions(args: readonly string[]): Options | null {
  const options = { json: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } } as const;
  const { values } = parseArgs({ args: [...args], options });
  return values.help ? null : { json: values.json };
}
