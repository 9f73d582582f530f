import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { testAccount } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded.ts';
import { buyAll } from '../buy-all.ts';
import { startFundedChain } from '../chain.ts';
import { followHeads } from '../heads.ts';
import { load, median } from '../load.ts';
import { THIS_CHECKOUT } from '../options.ts';
import { signOrders } from '../orders.ts';
import { type Running, runBench } from '../run-bench.ts';
import { marketShop } from '../shops.ts';
import { type Side, startSide } from '../side.ts';
import { difference, perOne, type Spent } from '../spent.ts';
import { startMeters } from '../start-meters.ts';
import { requestBytes } from '../wire.ts';

const HELP = `What a purchase and a page of the shelves cost: this checkout against another one, in alternating rounds.

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
const BUYING_AT_ONCE = 8;
const ETHER = 10n ** 18n;

interface Round {
  side: string;
  purchasesPerSecond: number;
  perPurchase: Spent;
  pagesPerSecond: number;
  perPage: Spent;
}

interface Options {
  before: string;
  json: boolean;
  rounds: number;
  purchases: number;
  seconds: number;
  listings: number;
}

function readOptions(args: readonly string[]): Options | null {
  const { values } = parseArgs({
    args: [...args],
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
  if (values.help) return null;
  if (values.before === undefined) throw new Error('--before must name the other checkout');
  const [rounds, purchases, seconds, listings] = [values.rounds, values.purchases, values.seconds, values.listings].map(
    Number,
  );
  if (!rounds || !purchases || !seconds || !listings)
    throw new Error('rounds, purchases, seconds and listings are numbers above 0');
  return { before: resolve(values.before), json: values.json, rounds, purchases, seconds, listings };
}

/** Starts market and facilitator of both checkouts, on one chain and one PostgreSQL. */
async function startSides(options: Options, chain: LocalChain, { begun, signal, tell }: Running): Promise<Side[]> {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-pairs-'));
  begun.defer(() => rm(folder, { recursive: true, force: true }));
  const postgres = await startEmbeddedPostgres({ dataDir: folder });
  begun.defer(() => postgres.stop());
  const meters = startMeters(begun);
  const sides: Side[] = [];
  for (const [name, root] of [
    ['before', options.before],
    ['after', THIS_CHECKOUT],
  ] as const) {
    const signer = testAccount(`bench facilitator ${name}`);
    await fund(chain, [{ address: signer.address, wei: 1_000n * ETHER }]);
    tell(`starting ${name}: ${root}`);
    const given = { folder, chain, meters, listings: options.listings, begun, signal };
    sides.push(await startSide({ ...given, name, root, postgresUrl: postgres.url, facilitatorKey: signer.key }));
  }
  return sides;
}

async function measure(options: Options, running: Running): Promise<void> {
  const { begun, tell } = running;
  tell('starting chain and PostgreSQL');
  const chain = await startFundedChain(begun);
  const sides = await startSides(options, chain, running);
  const heads = await followHeads(chain, begun);
  const made = new Map<string, number>();
  const one = async (side: Side): Promise<Round> => {
    const madeBefore = made.get(side.name) ?? 0;
    made.set(side.name, madeBefore + options.purchases);
    const { seeded, marketUrl } = side;
    const shop = marketShop(marketUrl, seeded);
    const orders = await signOrders(chain, seeded.goods, shop.buyers, { count: options.purchases, madeBefore });
    const start = await side.spent();
    const round = await buyAll(marketUrl, shop, orders, { atOnce: BUYING_AT_ONCE, heads });
    const middle = await side.spent();
    const page = requestBytes(marketUrl, { method: 'GET', path: '/api/shelves?limit=20' });
    const read = await load(marketUrl, [page], { connections: CONNECTIONS, seconds: options.seconds });
    return {
      side: side.name,
      purchasesPerSecond: round.perSecond,
      perPurchase: perOne(difference(start, middle), round.delivered.length),
      pagesPerSecond: read.perSecond,
      perPage: perOne(difference(middle, await side.spent()), read.perSecond * options.seconds),
    };
  };
  tell('warming up');
  for (const side of sides) await one(side);
  const rounds: Round[] = [];
  for (let n = 0; n < options.rounds; n += 1) {
    for (const side of n % 2 === 0 ? sides : sides.toReversed()) {
      const round = await one(side);
      rounds.push(round);
      const speeds = `${round.purchasesPerSecond.toFixed(1)} purchases/s, ${round.pagesPerSecond.toFixed(0)} pages/s`;
      tell(`${side.name}: ${speeds}`);
    }
  }
  process.stdout.write(options.json ? `${JSON.stringify({ options, rounds })}\n` : report(rounds));
}

/** Maps each name in the report to the costs that it adds up. */
const COSTS: Readonly<Record<string, readonly string[]>> = {
  statements: ['statements'],
  commits: ['commits'],
  'chain requests': ['market.requests', 'facilitator.requests'],
  'chain calls': ['market.calls', 'facilitator.calls'],
  'market CPU, ms': ['marketMs'],
  'facilitator CPU, ms': ['facilitatorMs'],
  'database CPU, ms': ['databaseMs'],
};

function report(rounds: readonly Round[]): string {
  const of = (side: string, read: (round: Round) => number): number =>
    median(rounds.filter((round) => round.side === side).map(read));
  const line = (name: string, read: (round: Round) => number): string => {
    const [before, after] = [of('before', read), of('after', read)];
    const ratio = before === 0 ? '-' : (after / before).toFixed(2);
    return `${name.padEnd(32)}${before.toFixed(2).padStart(10)}${after.toFixed(2).padStart(10)}${ratio.padStart(8)}\n`;
  };
  const sum = (spent: Spent, names: readonly string[]): number =>
    names.reduce((total, name) => total + (spent[name] ?? 0), 0);
  return [
    `${'median of rounds'.padEnd(32)}${'before'.padStart(10)}${'after'.padStart(10)}${'ratio'.padStart(8)}\n`,
    line('purchases/s', (round) => round.purchasesPerSecond),
    ...Object.entries(COSTS).map(([name, names]) =>
      line(`  ${name}, a purchase`, (round) => sum(round.perPurchase, names)),
    ),
    line('shelf pages/s', (round) => round.pagesPerSecond),
    line('  market CPU, us a page', (round) => 1_000 * sum(round.perPage, ['marketMs'])),
    line('  statements a page', (round) => sum(round.perPage, ['statements'])),
    line('  chain calls a page', (round) => sum(round.perPage, COSTS['chain calls'] ?? [])),
  ].join('');
}

runBench<Options>({ help: HELP, read: readOptions, measure });
