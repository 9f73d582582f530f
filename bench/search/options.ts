import { parseArgs } from 'node:util';

export interface Options {
  /** Folder with the skills, `OWNER/REPO/...`. */
  corpus: string;
  needs: string;
  /** Number of titles that are asked for. */
  titles: number;
  seed: number;
  json: boolean;
  /** True to report the places of every query. */
  details: boolean;
}

export const HELP = `Measures how well the market's search finds what people need, beside BM25 and PostgreSQL's full text.

  npm run bench:search -- --corpus DIR --needs FILE [options]

  --corpus DIR   skills in DIR/OWNER/REPO/...; each folder with a SKILL.md becomes a listing
  --needs FILE   {"needs": [{"q": "...", "right": ["owner/repo:path"], "best": ["owner/repo:path"]}]}
  --titles N     also asks for N titles: exact, with a letter missing, with two letters swapped (0)
  --seed N       of the drawn titles (1)
  --details      the place of the right listing for each query
  --json         the outcome as one JSON object on standard output
  --help         this text

Progress goes to standard error. bench/search/README.md says how to read the numbers.
`;

/** Returns null if the help is to be printed. Throws on an unknown option or a value out of range. */
export function readOptions(args: readonly string[]): Options | null {
  const options = {
    corpus: { type: 'string' },
    needs: { type: 'string' },
    titles: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    details: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const;
  const { values } = parseArgs({ args: [...args], options });
  if (values.help) return null;
  const { corpus, needs, json, details } = values;
  if (corpus === undefined || needs === undefined)
    throw new Error('--corpus and --needs must be given; --help explains both');
  const titles = wholeFrom('--titles', values.titles, 100_000);
  return { corpus, needs, titles, seed: wholeFrom('--seed', values.seed, 2 ** 31 - 1), json, details };
}

function wholeFrom(name: string, text: string, most: number): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isInteger(value) || value < 0 || value > most)
    throw new Error(`${name} must be a whole number from 0 to ${most}`);
  return value;
}
