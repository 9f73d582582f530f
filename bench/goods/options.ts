import { parseArgs } from 'node:util';

export interface Options {
  rounds: number;
  megabytes: number;
  json: boolean;
  /** Folder for a CPU profile of the market. */
  profile: string | null;
}

export const HELP = `Measures uploads and downloads of goods against a plain server that keeps the same chunks in the same PostgreSQL.

  npm run bench:goods -- [--rounds 5] [--megabytes 64] [--json] [--profile DIR]

  --rounds     market, plain server and file server in turn, so many times (1 to 100)
  --megabytes  size of one file (1 to 1024)
  --json       the outcome as one JSON object on standard output
  --profile    a CPU profile of the market
  --help       this text

OPENAISLE_S3_* in the environment make the market keep the bytes in that S3 store; the plain server keeps to PostgreSQL.
Progress goes to standard error. docs/performance.md says how to read the numbers.
`;

const MOST_ROUNDS = 100;
const MOST_MEGABYTES = 1_024;

/** Returns null if the help is to be printed. */
export function readOptions(args: readonly string[]): Options | null {
  const options = {
    rounds: { type: 'string', default: '5' },
    megabytes: { type: 'string', default: '64' },
    json: { type: 'boolean', default: false },
    profile: { type: 'string' },
    help: { type: 'boolean', default: false },
  } as const;
  const { values } = parseArgs({ args: [...args], options });
  if (values.help) return null;
  return {
    rounds: wholeNumber('--rounds', values.rounds, MOST_ROUNDS),
    megabytes: wholeNumber('--megabytes', values.megabytes, MOST_MEGABYTES),
    json: values.json,
    profile: values.profile ?? null,
  };
}

function wholeNumber(name: string, text: string, most: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new Error(`${name} must be a whole number from 1 to ${most}`);
}
