import { parseArgs } from 'node:util';

export interface Options {
  json: boolean;
  /** Seconds per window. */
  seconds: number;
  payments: number;
  workers: number;
  /** Number of transactions in each block that a provider shows. */
  transactions: number;
}

export const HELP = `Measures what a market asks of its provider while nothing happens, and while payments wait for finality.

  npm run bench:waiting -- [options]

  --seconds N      length of each window, 20 to 240 (120)
  --payments N     that wait in the third part, 100 to 2000 (1000)
  --workers N      processes of the market, 1 to 16 (4)
  --transactions N whose hashes stand in each block that a provider shows, 0 to 1000 (200)
  --json           the outcome as one JSON object on standard output
  --help           this text

Blocks come every 2 s and are final 600 blocks later. Progress goes to standard error. bench/README.md says how to read the numbers.
`;

/** Returns null if the help is to be printed. Throws on an unknown option or a value out of range. */
export function readOptions(args: readonly string[]): Options | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      seconds: { type: 'string', default: '120' },
      payments: { type: 'string', default: '1000' },
      workers: { type: 'string', default: '4' },
      transactions: { type: 'string', default: '200' },
    },
  });
  if (values.help) return null;
  const whole = (name: 'seconds' | 'payments' | 'workers' | 'transactions', least: number, most: number): number => {
    const number = Number(values[name]);
    if (Number.isInteger(number) && number >= least && number <= most) return number;
    throw new Error(`--${name} must be a whole number from ${least} to ${most}`);
  };
  return {
    json: values.json,
    seconds: whole('seconds', 20, 240),
    payments: whole('payments', 100, 2_000),
    workers: whole('workers', 1, 16),
    transactions: whole('transactions', 0, 1_000),
  };
}
