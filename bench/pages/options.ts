import { parseArgs } from 'node:util';

export interface Options {
  rounds: number;
  json: boolean;
  /** Folder for a CPU profile of the market. */
  profile: string | null;
}

export const HELP = `Measures listing pages for people against a server that only sends the same bytes.

  npm run bench:pages -- [--rounds 7] [--json] [--profile DIR]

  --rounds   market and static server in turn, so many times for each kind of page (1 to 100)
  --json     the outcome as one JSON object on standard output
  --profile  a CPU profile of the market
  --help     this text

Progress goes to standard error. docs/performance.md says how to read the numbers.
`;

const MAX_ROUNDS = 100;

/** Returns null if the help is to be printed. */
export function readOptions(args: readonly string[]): Options | null {
  const options = {
    rounds: { type: 'string', default: '7' },
    json: { type: 'boolean', default: false },
    profile: { type: 'string' },
    help: { type: 'boolean', default: false },
  } as const;
  const { values } = parseArgs({ args: [...args], options });
  if (values.help) return null;
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > MAX_ROUNDS)
    throw new Error(`--rounds must be a whole number from 1 to ${MAX_ROUNDS}`);
  return { rounds, json: values.json, profile: values.profile ?? null };
}
