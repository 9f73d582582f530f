/** Kills buying and selling processes (SIGKILL) between writes and at random moments: nothing is paid twice and no goods are lost. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compileCache } from '../../test/support/compile-cache.ts';
import { createDice } from '../../test/support/dice.ts';
import { freePort } from '../../test/support/free-port.ts';
import { type Member, paidUnits, startWorld, type World } from '../../test/support/market-world.ts';
import { seedListing } from '../../test/support/seed.ts';
import { openSpendBook } from '../agent/spend-book.ts';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../local/chain/accounts.ts';
import { fund } from '../local/chain/transactions.ts';
import { systemRandom } from '../platform/random.ts';

/** Number of purchases, and of listings. Each is killed several times. */
const ROUNDS = Number(process.env['OPENAISLE_AGENT_KILLS'] ?? 4);
const KILLS_A_ROUND = 4;
/** Seed of the kill times. Printed, and read from the environment to replay a run. */
const SEED = Number(process.env['OPENAISLE_KILLS_SEED'] ?? systemRandom.bytes(4).readUInt32BE());
const dice = createDice(SEED);
/** About as many changes as one run makes in the book's folders. */
const CHANGES = 24;
const LONGEST_MS = 4_000;
const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));
const { sellerOne, treasury } = WORLD_ACCOUNTS;

let world: World;
let seller: Member;
let home = '';
const stop = new AbortController();
let mining: Promise<void>;
const seen = { kills: 0, afterReserved: 0, afterSigned: 0 };

beforeAll(async () => {
  world = await startWorld({ port: await freePort() });
  await world.join('the-keeper');
  seller = await world.join('seller-one');
  home = await mkdtemp(join(tmpdir(), 'openaisle-kills-'));
  mining = (async () => {
    while (!stop.signal.aborted) await world.finalize();
  })();
});
afterAll(async () => {
  stop.abort();
  await mining;
  await world?.stop();
  await rm(home, { recursive: true, force: true });
  process.stdout.write(`agent kills: seed ${SEED}, ${JSON.stringify(seen)}\n`);
});

interface Run {
  args: string[];
  /** Text sent to standard input. */
  input: string;
  wallet: TestAccount;
}

/** Runs the command, killing it a few times, until it ends on its own. Returns its last output. */
async function runThroughKills({ args, input, wallet }: Run, round: number): Promise<string> {
  const book = openSpendBook({ env: { HOME: home }, address: wallet.address });
  const spends = join(book.folder, 'spends');
  await mkdir(spends, { recursive: true, mode: 0o700 });
  const start = (): ChildProcess => {
    const env = { ...compileCache(), HOME: home, OPENAISLE_WALLET_KEY: wallet.key };
    const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
    // The process may be killed before it reads.
    child.stdin.on('error', () => {}).end(input);
    return child;
  };
  for (let kill = 0; kill < KILLS_A_ROUND; kill += 1) {
    const child = start();
    const ended = once(child, 'exit');
    const killer =
      kill % 2 === 0 ? killAtChange(child, spends, 1 + ((round * 7 + kill * 5) % CHANGES)) : killAfter(child);
    const [code] = await ended;
    killer.stop();
    if (code === 0) break;
    expect(child.signalCode).toBe('SIGKILL');
    seen.kills += 1;
    const [record] = await book.list();
    if (record?.state === 'reserved') seen.afterReserved += 1;
    if (record?.state === 'signed') seen.afterSigned += 1;
  }
  const last = start();
  let [said, complained] = ['', ''];
  last.stdout?.on('data', (text) => {
    said += String(text);
  });
  last.stderr?.on('data', (text) => {
    complained += String(text);
  });
  const [code] = await once(last, 'close');
  expect(code, complained).toBe(0);
  expect(said + complained).not.toContain(wallet.key.slice(2));
  const records = await book.list();
  expect(records.map(({ state, saved }) => [state, saved])).toEqual([['settled', null]]);
  return said;
}

/** Kills the child after this many changes of names in the folder, so between two durable steps. */
function killAtChange(child: ChildProcess, folder: string, nth: number): { stop(): void } {
  let changes = 0;
  const watcher = watch(folder, () => {
    changes += 1;
    if (changes === nth) child.kill('SIGKILL');
  });
  return { stop: () => watcher.close() };
}

function killAfter(child: ChildProcess): { stop(): void } {
  const timer = setTimeout(() => child.kill('SIGKILL'), dice.number(LONGEST_MS));
  return { stop: () => clearTimeout(timer) };
}

async function walletOf(name: string): Promise<TestAccount> {
  const wallet = testAccount(name);
  await fund(world.chain, [{ address: wallet.address, usdcUnits: 10_000_000n, wei: 0n }]);
  return wallet;
}

const rounds = Array.from({ length: ROUNDS }, (_, round) => ({ round }));

test.each(rounds)(
  'a purchase that is killed again and again pays once and keeps its goods ($round)',
  async ({ round }) => {
    const wallet = await walletOf(`killed buyer ${round}`);
    const artifact = `goods of a killed buyer ${round}`;
    const { id } = await seedListing(world.db.database, seller.id, {
      wallet: sellerOne.address,
      priceUnits: 1_500_000n,
      artifact,
    });
    await world.running.eventsSettled();
    const args = ['buy', String(id), '--max', '1.5', '--market', world.url, '--json'];
    const { path } = JSON.parse(await runThroughKills({ args, input: '', wallet }, round)) as { path: string };
    expect(await readFile(path, 'utf8')).toBe(artifact);
    expect(await paidUnits(world.chain, wallet.address, sellerOne.address)).toEqual([1_500_000n]);
    const book = openSpendBook({ env: { HOME: home }, address: wallet.address });
    expect(await book.spentToday()).toBe(1_500_000n);
  },
  120_000,
);

test.each(rounds)(
  'a listing whose process is killed again and again is one listing and one fee ($round)',
  async ({ round }) => {
    const wallet = await walletOf(`killed seller ${round}`);
    const title = `Goods of a killed seller ${round}`;
    const file = join(home, `killed-${round}.txt`);
    await writeFile(file, `hidden goods ${round}`);
    const said = ['--title', title, '--price', '1', '--description', 'd', '--market', world.url];
    const args = ['sell', file, ...said, '--key-stdin', '--json'];
    const sold = await runThroughKills({ args, input: `${seller.key}\n`, wallet }, round);
    const { listing_id: id } = JSON.parse(sold) as { listing_id: number };
    expect(await paidUnits(world.chain, wallet.address, treasury.address)).toEqual([1_000_000n]);
    const { body } = await world.ask('GET', `/api/store/${seller.handle}?limit=50`);
    const listed = JSON.stringify(body).split(`"${title}"`).length - 1;
    expect([listed, id > 0]).toEqual([1, true]);
  },
  120_000,
);

test('kills came between the steps, before and after the signature', () => {
  expect(seen.kills).toBeGreaterThanOrEqual(ROUNDS);
  expect(seen.afterSigned).toBeGreaterThan(0);
});
