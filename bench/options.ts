import { parseArgs } from 'node:util';

export interface Options {
  json: boolean;
  /** How long each slice of reads lasts. */
  seconds: number;
  listings: number;
}

export const HELP = `Measures this machine's market against what the machine can do at best.

  npm run bench -- [--seconds N] [--listings N] [--json]

  --seconds N    length of each slice of reads, 0.5 to 60 (2)
  --listings N   goods on the shelves, 100 to 20000 (2000)
  --json         the outcome as one JSON object on standard output
  --help         this text

Progress goes to standard error. bench/README.md says how to read the numbers.
`;

/** Null when only the help is wanted. Throws where an option is unknown or out of range. */
export function readOptions(args: readonly string[]): Options | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      seconds: { type: 'string', default: '2' },
      listings: { type: 'string', default: '2000' },
    },
  });
  if (values.help) return null;
  const seconds = numberFrom('--seconds', values.seconds, 0.5, 60);
  const listings = numberFrom('--listings', values.listings, 100, 20_000);
  if (!Number.isInteger(listings)) throw new Error('--listings must be a whole number');
  return { json: values.json, seconds, listings };
}

function numberFrom(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= least && value <= most)) throw new Error(`${name} must be ${least} to ${most}`);
  return value;
}
