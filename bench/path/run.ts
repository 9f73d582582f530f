import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../src/platform/clock.ts';
import { buyAll } from '../buy-all.ts';
import { followHeads, type Heads } from '../heads.ts';
import { THIS_CHECKOUT } from '../options.ts';
import { signOrders } from '../orders.ts';
import { type Running, runBench } from '../run-bench.ts';
import { marketShop } from '../shops.ts';
import { startWorld, type World } from '../world.ts';
import { foldersOf, type PassedFile, readPath, type ScriptCoverage } from './read-path.ts';

const HELP = `Which of our files one purchase passes in the market, and how many of their lines it executes.

  npm run bench:path -- [--root PATH] [--json]

  --root PATH    the checkout to look at, with its packages installed (this one)
  --json         the outcome as one JSON object on standard output, file by file
  --help         this text

From POST /api/buy/:id to the goods, with a merchant's key and x402 v2; bench/README.md says how it is counted.
`;

interface Options {
  root: string;
  json: boolean;
}

interface Outcome {
  root: string;
  answers: Record<string, number>;
  files: PassedFile[];
  /** Files that ran during an equally long idle time before. Most of them run during a purchase too. */
  idle: PassedFile[];
}

const LISTINGS = 1_000;
/** Orders before the measured one. The first payer has a key, and the third order is the first of version 2. */
const WARM_UP = { count: 2, madeBefore: 0 };
const MEASURED = { count: 1, madeBefore: 2 };
/** About as long as a purchase takes until its block is final. */
const IDLE_MS = 1_000;
const POLL_MS = 20;
const WRITTEN_WITHIN_MS = 10_000;

function readOptions(args: readonly string[]): Options | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      root: { type: 'string', default: THIS_CHECKOUT },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  return values.help ? null : { root: resolve(values.root), json: values.json };
}

async function measure({ root, json }: Options, running: Running): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-path-'));
  running.begun.defer(() => rm(folder, { recursive: true, force: true }));
  const recorder = new URL('./record-coverage.ts', import.meta.url).href;
  const world = await startWorld({
    ...running,
    root,
    listings: LISTINGS,
    marketEnv: { NODE_OPTIONS: `--import=${recorder}`, BENCH_COVERAGE_FOLDER: folder },
  });
  const heads = await followHeads(world.chain, running.begun);
  const take = createTake(world.side.marketPid, folder);
  running.tell('buying once to warm up');
  await buy(world, heads, WARM_UP);
  await take();
  await systemClock.sleep(IDLE_MS);
  const idle = readPath(await take(), root);
  running.tell('buying once');
  const { answers } = await buy(world, heads, MEASURED);
  const outcome: Outcome = { root, answers, files: readPath(await take(), root), idle };
  process.stdout.write(json ? `${JSON.stringify(outcome)}\n` : report(outcome));
}

async function buy({ chain, side }: World, heads: Heads, given: { count: number; madeBefore: number }) {
  const shop = marketShop(side.marketUrl, side.seeded);
  const orders = await signOrders(chain, side.seeded.goods, shop.buyers, given);
  return buyAll(side.marketUrl, shop, orders, { atOnce: 1, heads });
}

/** Makes a function that returns the coverage since its last call. */
function createTake(pid: number, folder: string): () => Promise<ScriptCoverage[]> {
  let taken = 0;
  return async () => {
    taken += 1;
    const file = join(folder, `${taken}.json`);
    process.kill(pid, 'SIGUSR2');
    for (let waited = 0; !existsSync(file); waited += POLL_MS) {
      if (waited > WRITTEN_WITHIN_MS) throw new Error('the market wrote no coverage');
      await systemClock.sleep(POLL_MS);
    }
    return JSON.parse(readFileSync(file, 'utf8')) as ScriptCoverage[];
  };
}

function report({ answers, files, idle }: Outcome): string {
  const sum = (of: readonly PassedFile[], name: 'lines' | 'executed'): number =>
    of.reduce((total, file) => total + file[name], 0);
  const line = (label: string, ...counts: number[]): string =>
    `${label.padEnd(48)}${counts.map((count) => count.toLocaleString('en').padStart(10)).join('')}\n`;
  const folders = foldersOf(files);
  const alsoIdle = new Set(idle.map(({ path }) => path));
  return [
    `One purchase in the market, from its request to its goods (${Object.keys(answers).join(', ')})\n\n`,
    line('files of ours', files.length),
    line('  of these, files that ran while idle too', files.filter(({ path }) => alsoIdle.has(path)).length),
    line('their lines', sum(files, 'lines')),
    line('folders', folders.size),
    line('lines executed', sum(files, 'executed')),
    `\n${'folder'.padEnd(48)}${['files', 'lines', 'executed'].map((name) => name.padStart(10)).join('')}\n`,
    ...[...folders].map(([folder, of]) => line(folder, of.length, sum(of, 'lines'), sum(of, 'executed'))),
  ].join('');
}

runBench<Options>({ help: HELP, read: readOptions, measure });
