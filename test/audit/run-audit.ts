import { parseArgs } from 'node:util';
import { audit } from './audit.ts';
import { jsonLineOf, lineOf } from './print.ts';
import { auditMarket } from './public/audit-market.ts';
import { reportOf, reportOfMarket } from './report.ts';

const HELP = `Holds a market's books against the chain, and the chain against the books.

  npm run audit -- --database URL --rpc URL [options]    the operator's: books, log, artifacts, chain
  npm run audit -- --market URL --rpc URL [options]      anybody's: public log, fees and chain

  --state FILE        remembers how far the last clean audit came, and goes on from there
  --from-block N      the first block whose transfers are looked at (found by itself without this)
  --treasury ADDRESS  also looks at this wallet; the operator's audit knows those that the books name
  --token ADDRESS     another token than the native USDC of Base
  --since N           from event N on each listing promises its wallet and its goods, in the log (anybody's; by the log without this)
  --max-events N      reads so many events, fees and listings at most, 1000000 without this (anybody's)
  --quiet             everything has had the time to end: what is still open is a fault (operator's)
  --json              the result as one line of JSON
  --help

Exit code 0: no faults. 1: faults. 2: could not finish, met a bound of its own, or wrong arguments.
What came in no book (surplus) is no fault: anybody can send money. It is named or counted by sender.
docs/audit.md says what is looked at.
`;
const PROGRESS_MS = 2_000;

/** Standard output and standard error of the program. */
export interface Output {
  say(text: string): void;
  note(text: string): void;
}

/** Reports progress, starting only after a while and not too often. */
function createProgress({ note }: Output): (progress: string) => void {
  let last = Date.now();
  return (progress) => {
    if (Date.now() - last < PROGRESS_MS) return;
    last = Date.now();
    note(`${lineOf(progress)}\n`);
  };
}

class WrongArguments extends Error {}

const NUMBERS = [
  ['from-block', 'a block number'],
  ['since', 'the number of an event'],
  ['max-events', 'a whole number'],
] as const;

function readArguments(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      database: { type: 'string' },
      market: { type: 'string' },
      rpc: { type: 'string' },
      token: { type: 'string' },
      treasury: { type: 'string' },
      state: { type: 'string' },
      'from-block': { type: 'string' },
      since: { type: 'string' },
      'max-events': { type: 'string' },
      quiet: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return values;
  if ((values.database === undefined) === (values.market === undefined))
    throw new WrongArguments('name either --database or --market');
  if (values.rpc === undefined) throw new WrongArguments('name an endpoint of the chain with --rpc');
  for (const name of ['token', 'treasury'] as const) {
    if (!/^0x[0-9a-f]{40}$/i.test(values[name] ?? `0x${'0'.repeat(40)}`))
      throw new WrongArguments(`--${name} must be an address`);
  }
  for (const [name, what] of NUMBERS) {
    if (!/^\d{1,15}$/.test(values[name] ?? '0')) throw new WrongArguments(`--${name} must be ${what}`);
  }
  if (values.market === undefined && (values.since ?? values['max-events']) !== undefined)
    throw new WrongArguments('--since and --max-events go with --market');
  return values;
}

interface Outcome {
  faults: readonly string[];
  lines: readonly string[];
  found: object;
}

async function run(values: ReturnType<typeof readArguments>, output: Output): Promise<Outcome> {
  const numberOf = (given: string | undefined): number | undefined => (given === undefined ? undefined : Number(given));
  const order = {
    rpcUrl: values.rpc ?? '',
    token: values.token,
    treasury: values.treasury,
    fromBlock: numberOf(values['from-block']),
    statePath: values.state,
    say: createProgress(output),
  };
  if (values.market !== undefined) {
    const own = { since: numberOf(values.since), mostEvents: numberOf(values['max-events']) };
    const found = await auditMarket({ ...order, ...own, marketUrl: values.market });
    return { faults: found.faults, lines: reportOfMarket(found), found };
  }
  const found = await audit({ ...order, databaseUrl: values.database ?? '', quiet: values.quiet });
  return { faults: found.faults, lines: reportOf(found), found };
}

/** Runs the program and returns its exit code. Prints each text of a market, chain or database as one escaped line. */
export async function runAudit(args: string[], output: Output): Promise<0 | 1 | 2> {
  try {
    const values = readArguments(args);
    if (values.help) {
      output.say(HELP);
      return 0;
    }
    const { faults, lines, found } = await run(values, output);
    output.say(values.json ? `${jsonLineOf(found)}\n` : lines.map((line) => `${lineOf(line)}\n`).join(''));
    return faults.length === 0 ? 0 : 1;
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    output.note(`the audit could not finish: ${lineOf(said)}\n`);
    if (error instanceof WrongArguments) output.note(HELP);
    return 2;
  }
}
