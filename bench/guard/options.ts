import { parseArgs } from 'node:util';

export interface Options {
  /** Number of listings. With 0, only the pairs are judged, and no database is filled and timed. */
  listings: number;
  probes: number;
  seed: number;
  /** Folder for the database. It is filled once, then reused. */
  dataDir: string | null;
  /** File for the JSON result. `-` is standard output. */
  json: string | null;
}

export const HELP = `The duplicate guard over goods that are nearly the same: how long a look takes, and what it finds.

  node bench/guard/run.ts [options]

  --listings N   listings with a shape in the database (1000000); 0 leaves the times out
  --probes N     looks that are timed (2000)
  --seed N       of the made-up texts (1)
  --data-dir DIR the folder for the database; filled once, used again later
  --json FILE    the outcome as JSON; - is standard output
  --help         this text

Progress goes to standard error. docs/duplicates.md says how to read the numbers.
`;

/** Returns null if the help is to be printed. Throws on an unknown option or a value out of range. */
export function readOptions(args: readonly string[]): Options | null {
  const text = (standard: string) => ({ type: 'string', default: standard }) as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      listings: text('1000000'),
      probes: text('2000'),
      seed: text('1'),
      'data-dir': { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return null;
  return {
    listings: wholeFrom('--listings', values.listings, 0, 5_000_000),
    probes: wholeFrom('--probes', values.probes, 10, 100_000),
    seed: wholeFrom('--seed', values.seed, 0, 2 ** 31 - 1),
    dataDir: values['data-dir'] ?? null,
    json: values.json ?? null,
  };
}

function wholeFrom(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isInteger(value) || value < least || value > most) {
    throw new Error(`${name} must be a whole number from ${least} to ${most}`);
  }
  return value;
}
