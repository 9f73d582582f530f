import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

export interface Options {
  json: boolean;
  root: string;
  rounds: number;
  /** Length of each slice of reads in seconds. */
  seconds: number;
  listings: number;
  parts: readonly Part[];
}

export const PARTS = ['reads', 'free', 'purchases'] as const;
export type Part = (typeof PARTS)[number];

export const HELP = `Measures a market against what the machine can do at best, and its purchases against a stock seller's.

  npm run bench -- [options]

  --root PATH      the checkout to measure, with its packages installed (this one)
  --only PART      reads, free or purchases
  --rounds N       of each measurement, 1 to 20 (3)
  --seconds N      length of each slice of reads, 0.5 to 60 (2)
  --listings N     goods on the shelves, 1000 to 20000 (2000)
  --json           the outcome as one JSON object on standard output
  --help           this text

Progress goes to standard error. bench/README.md says how to read the numbers.
`;

/** Returns null if the help is to be printed. Throws on an unknown option or a value out of range. */
export function readOptions(args: readonly string[]): Options | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      root: { type: 'string', default: THIS_CHECKOUT },
      only: { type: 'string' },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '2' },
      listings: { type: 'string', default: '2000' },
    },
  });
  if (values.help) return null;
  const parts = PARTS.filter((part) => values.only === undefined || values.only === part);
  if (parts.length === 0) throw new Error(`--only must be one of ${PARTS.join(', ')}`);
  return {
    json: values.json,
    root: resolve(values.root),
    rounds: wholeFrom('--rounds', values.rounds, 1, 20),
    seconds: numberFrom('--seconds', values.seconds, 0.5, 60),
    listings: wholeFrom('--listings', values.listings, 1_000, 20_000),
    parts,
  };
}

export const THIS_CHECKOUT = resolve(import.meta.dirname, '..');

function wholeFrom(name: string, text: string, least: number, most: number): number {
  const value = numberFrom(name, text, least, most);
  if (!Number.isInteger(value)) throw new Error(`${name} must be a whole number`);
  return value;
}

function numberFrom(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= least && value <= most)) throw new Error(`${name} must be ${least} to ${most}`);
  return value;
}
