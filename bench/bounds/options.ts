import { parseArgs } from 'node:util';

export interface Options {
  parts: readonly Part[];
  /** Seconds per measurement of honest clients, with attacks and without. */
  seconds: number;
  json: boolean;
}

export const PARTS = ['table', 'honest'] as const;
export type Part = (typeof PARTS)[number];

export const HELP = `How much of the processor one hostile request takes at every endpoint, and what honest clients notice of such requests.

  npx node bench/bounds/run.ts [options]

  --only PART    table: every endpoint with its largest body, or address and headers where it takes none
                 honest: the share of answers over a second to honest clients, without attacks and beside them
  --seconds N    of each of the two slices of honest, 2 to 600 (20)
  --json         the outcome as one JSON object on standard output, in place of Markdown
  --help         this text

Linux only. Progress goes to standard error. It ends with 1 where an endpoint takes more than 50 ms that does not compare goods.
bench/README.md says how to read the numbers.
`;

/** Returns null if the help is to be printed. Throws on an unknown option or a value out of range. */
export function readOptions(args: readonly string[]): Options | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      seconds: { type: 'string', default: '20' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return null;
  const parts = PARTS.filter((part) => values.only === undefined || values.only === part);
  if (parts.length === 0) throw new Error(`--only must be one of ${PARTS.join(', ')}`);
  const seconds = Number(values.seconds);
  if (!(seconds >= 2 && seconds <= 600)) throw new Error('--seconds must be 2 to 600');
  return { parts, seconds, json: values.json };
}
