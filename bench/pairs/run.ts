import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { testAccount } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/fund.ts';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded.ts';
import { startFundedChain } from '../chain.ts';
import { load, median } from '../load.ts';
import { measurePurchases, signOrders } from '../purchases.ts';
import { WIDE_LIMITS } from '../settings.ts';
import { requestBytes } from '../wire.ts';
import { type Side, type Spent, startSide } from './side.ts';

const HELP = `What a purchase and a page of the shelves cost: this checkout beside another one, in alternating rounds.

  npm run bench:pairs -- --before PATH [options]

  --before PATH     the other checkout, with its packages installed
  --rounds N        of each side (6)
  --purchases N     of each round (60)
  --seconds N       of reading, each round (3)
  --listings N      on the shelves (2000)
  --json            the outcome as one JSON object
  --help            this text
`;
const CONNECTIONS = 8;
const ETHER = 10n ** 18n;
/** All buyers come from one address, and gas of the local chain costs a hundred times what the real one's does. */
const WIDE = {
  marketEnv: { OPENAISLE_LIMITS: WIDE_LIMITS },
  facilitatorEnv: { FACILITATOR_LIMITS: JSON.stringify({ gas_loss_hour_units: 1e9, gas_loss_day_units: 1e9 }) },
};

interface Round {
  side: string;
  purchasesPerSecond: number;
  perPurchase: Spent;
  pagesPerSecond: number;
  perPage: Spent;
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      before: { type: 'string' },
      rounds: { type: 'string', default: '6' },
      purchases: { type: 'string', default: '60' },
      seconds: { type: 'string', default: '3' },
      listings: { type: 'string', default: '2000' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help || values.before === undefined) {
    process.stdout.write(HELP);
    process.exit(values.help ? 0 : 2);
  }
  const { before, json } = values;
  const [rounds, purchases, seconds, listings] = [values.rounds, values.purchases, values.seconds, values.listings].map(
    Number,
  );
  if (!rounds || !purchases || !seconds || !listings)
    throw new Error('rounds, purchases, seconds and listings are numbers above 0');
  return { before: resolve(before), json, rounds, purchases, seconds, listings };
}

const NAMES = ['statements', 'chainRequests', 'chainCalls', 'marketMs', 'facilitatorMs', 'databaseMs'] as const;

function perOne(from: Spent, to: Spent, count: number): Spent {
  return Object.fromEntries(NAMES.map((name) => [name, (to[name] - from[name]) / count])) as unknown as Spent;
}

async function main(): Promise<void> {
  const options = readOptions();
  const tell = (line: string): void => void process.stderr.write(`${line}\n`);
  await using begun = new AsyncDisposableStack();
  const breaking = new AbortController();
  process.once('SIGINT', () => breaking.abort());
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-pairs-'));
  begun.defer(() => rm(folder, { recursive: true, force: true }));
  tell('starting chain and PostgreSQL');
  const chain = await startFundedChain(begun);
  const postgres = await startEmbeddedPostgres({ dataDir: folder });
  begun.defer(() => postgres.stop());
  const sides: Side[] = [];
  for (const [name, root] of [
    ['before', options.before],
    ['after', resolve(import.meta.dirname, '../..')],
  ] as const) {
    const signer = testAccount(`bench facilitator ${name}`);
    await fund(chain, [{ address: signer.address, wei: 1_000n * ETHER }]);
    tell(`starting ${name}: ${root}`);
    const given = { folder, chain, postgresUrl: postgres.url, listings: options.listings, facilitatorKey: signer.key };
    const wide = name === 'after' ? WIDE : { marketEnv: {}, facilitatorEnv: {} };
    sides.push(await startSide({ name, root, ...given, ...wide, begun, signal: breaking.signal }));
  }
  const made = new Map<string, number>();
  const measure = async (side: Side): Promise<Round> => {
    const madeBefore = made.get(side.name) ?? 0;
    made.set(side.name, madeBefore + options.purchases);
    const orders = await signOrders(chain, side.seeded, { count: options.purchases, madeBefore });
    const [start, round] = [await side.spent(), await measurePurchases(side.marketUrl, orders)];
    const middle = await side.spent();
    const page = requestBytes(side.marketUrl, { method: 'GET', path: '/api/shelves?limit=20' });
    const read = await load(side.marketUrl, [page], { connections: CONNECTIONS, seconds: options.seconds });
    const pages = read.perSecond * options.seconds;
    return {
      side: side.name,
      purchasesPerSecond: round.perSecond,
      perPurchase: perOne(start, middle, round.delivered.length),
      pagesPerSecond: read.perSecond,
      perPage: perOne(middle, await side.spent(), pages),
    };
  };
  tell('warming up');
  for (const side of sides) await measure(side);
  const rounds: Round[] = [];
  for (let n = 0; n < options.rounds; n += 1) {
    for (const side of n % 2 === 0 ? sides : sides.toReversed()) {
      const round = await measure(side);
      rounds.push(round);
      tell(
        `${side.name}: ${round.purchasesPerSecond.toFixed(1)} purchases/s, ${round.pagesPerSecond.toFixed(0)} pages/s`,
      );
    }
  }
  process.stdout.write(options.json ? `${JSON.stringify({ options, rounds })}\n` : report(rounds));
}

function report(rounds: readonly Round[]): string {
  const of = (side: string, read: (round: Round) => number): number =>
    median(rounds.filter((round) => round.side === side).map(read));
  const line = (name: string, read: (round: Round) => number): string => {
    const [before, after] = [of('before', read), of('after', read)];
    const ratio = before === 0 ? '-' : (after / before).toFixed(2);
    return `${name.padEnd(32)}${before.toFixed(2).padStart(10)}${after.toFixed(2).padStart(10)}${ratio.padStart(8)}\n`;
  };
  return [
    `${'median of rounds'.padEnd(32)}${'before'.padStart(10)}${'after'.padStart(10)}${'ratio'.padStart(8)}\n`,
    line('purchases/s', (round) => round.purchasesPerSecond),
    ...NAMES.map((name) => line(`  ${name} a purchase`, (round) => round.perPurchase[name])),
    line('shelf pages/s', (round) => round.pagesPerSecond),
    line('  market CPU, us a page', (round) => 1_000 * round.perPage.marketMs),
    line('  statements a page', (round) => round.perPage.statements),
    line('  chain calls a page', (round) => round.perPage.chainCalls),
  ].join('');
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
