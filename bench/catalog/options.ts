import { parseArgs } from 'node:util';

export interface Options {
  listings: number;
  /** File for the JSON result. `-` is standard output. */
  json: string | null;
  /** Seconds per kind of page and side. */
  seconds: number;
  /** Number of processes. If more than one, compares them with a single process and measures nothing else. */
  workers: number;
  /** Kinds of pages to measure, or kinds of writes if `writes` is set. If empty, all pages, or all writes mixed. */
  only: readonly string[];
  seed: number;
  sql: boolean;
  /** Writes per second during the reads. Null measures kinds of pages instead. */
  writes: number | null;
  /** Reads per second during the writes. Null for as many as possible. */
  reads: number | null;
  /** True if writes go to a second process of the market. */
  elsewhere: boolean;
  dataDir: string | null;
  keep: boolean;
  /** Measures the start without and with a saved text index, and only then the rest. */
  restart: boolean;
  profile: string | null;
}

export const HELP = `Measures the catalog of a market against a server that only sends prepared bytes.

  npm run bench:catalog -- [options]

  --listings N     goods on the shelves, 100 to 2000000 (100000)
  --seconds N      how long each kind of page is measured on each side, 0.5 to 600 (3)
  --only A;B       only these kinds of pages; names as in the table. With --writes: what these kinds of writes cost
                   while nothing is read: vote, comment, edit, listing
  --no-sql         not the same pages by SQL per request
  --writes RATE    reads with and without so many writes a second, checked against the database, in place of the kinds of pages
  --elsewhere      with --writes: they go to a second process, and the reads follow
  --reads RATE     with --writes: so many reads a second, in place of as many as are answered
  --workers N      requests/s of N processes against one, in place of the kinds of pages
  --json FILE      the outcome as JSON; - is standard output
  --seed N         of the made-up goods (1)
  --data-dir DIR   the folder for the database; filled once, used again later
  --restart        first a start without a saved text index, then one with it
  --keep           leave the temporary folder of the database and say where it is
  --profile DIR    a CPU profile of the market
  --help           this text

Progress goes to standard error. bench/catalog/README.md says how to read the numbers.
`;

/** Returns null if the help is to be printed. Throws on an unknown option or a value out of range. */
export function readOptions(args: readonly string[]): Options | null {
  const text = (standard: string) => ({ type: 'string', default: standard }) as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      listings: text('100000'),
      seconds: text('3'),
      workers: text('1'),
      only: text(''),
      seed: text('1'),
      'no-sql': { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      restart: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      writes: { type: 'string' },
      reads: { type: 'string' },
      elsewhere: { type: 'boolean', default: false },
      json: { type: 'string' },
      'data-dir': { type: 'string' },
      profile: { type: 'string' },
    },
  });
  if (values.help) return null;
  const workers = wholeFrom('--workers', values.workers, 1, 64);
  const writes = values.writes === undefined ? null : numberFrom('--writes', values.writes, 1, 10_000);
  const reads = values.reads === undefined ? null : numberFrom('--reads', values.reads, 1, 100_000);
  if (reads !== null && writes === null) throw new Error('--reads sets the reads that run with --writes');
  if (workers > 1 && writes !== null) throw new Error('--workers and --writes are two measurements: name one');
  return {
    listings: wholeFrom('--listings', values.listings, 100, 2_000_000),
    json: values.json ?? null,
    seconds: numberFrom('--seconds', values.seconds, 0.5, 600),
    workers,
    only: values.only
      .split(';')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
    seed: wholeFrom('--seed', values.seed, 0, 2 ** 31 - 1),
    sql: !values['no-sql'],
    writes,
    reads,
    elsewhere: values.elsewhere,
    dataDir: values['data-dir'] ?? null,
    keep: values.keep,
    restart: values.restart,
    profile: values.profile ?? null,
  };
}

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
