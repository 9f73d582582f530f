import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PACKAGES, stagePackage } from '../../packages/pack.ts';
import { type TestAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { type Hex, toBytes, toHex } from '../../src/platform/hex.ts';
import { rotated } from '../suite/rotation.ts';
import { freePort } from '../support/free-port.ts';
import { type Member, paidUnits, startWorld, type World, type WorldOptions } from '../support/market-world.ts';
import { fundedWallet, listGoods, listPaid, newGoods } from '../support/trade.ts';
import { type Block, blocksOf, installedBy, lackingIn, missingFrom, runGuide } from './run-guide.ts';

// Follows each guide to the letter, as a reader with an empty home folder and a market of its own.

const ROOT = resolve(import.meta.dirname, '../..');
const SLOW_MS = 300_000;
const UNITS = 10_000_000n;
const { sellerOne, treasury } = WORLD_ACCOUNTS;
const OURS = { sdk: 'openaisle-sdk', cli: 'openaisle' } as const;
const COMMAND = 'openaisle/dist/cli/main.js';
const PATH = `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`;

/**
 * Guides to run. `goods` and `fees` are the reader's payments at the end. Blocks come every second and are soon final, except where a guide
 * shows a purchase that is not final yet.
 */
const GUIDES = [
  { name: 'buy', finalityBlocks: 2, goods: [2_500_000n], fees: [] },
  { name: 'sell', finalityBlocks: 2, goods: [], fees: [1_000_000n, 1_000_000n] },
  { name: 'agents', finalityBlocks: 2, goods: [2_500_000n, 2_500_000n], fees: [] },
  { name: 'sdk', finalityBlocks: 6, goods: [2_500_000n, 2_500_000n], fees: [1_000_000n, 1_000_000n] },
] as const;
const NAMES = [...GUIDES.map(({ name }) => name), 'audit'];

const guides = new Map<string, Block[]>();
for (const name of NAMES) guides.set(name, blocksOf(await readFile(join(ROOT, 'docs', `${name}.md`), 'utf8')));
const guide = (name: string): Block[] => guides.get(name) ?? [];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-guides-'));
  const staged = PACKAGES.map((name) => stagePackage(name, join(modulesIn('packages'), OURS[name])));
  const used = new Set(staged.flatMap(({ dependencies }) => Object.keys(dependencies)));
  for (const name of used) await link(join(ROOT, 'node_modules', name), 'packages', name);
  await chmod(join(modulesIn('packages'), COMMAND), 0o755);
}, SLOW_MS);
afterAll(() => rm(folder, { recursive: true, force: true }));

/**
 * Returns node_modules of a reader, or of `packages`, which has our own packages as published. test/packages installs them from tarballs.
 */
function modulesIn(place: string): string {
  return join(folder, place, 'node_modules');
}

async function link(from: string, place: string, name: string): Promise<void> {
  const path = join(modulesIn(place), name);
  await mkdir(dirname(path), { recursive: true });
  await symlink(from, path);
}

/** Installs only the packages that a guide names, in the versions that other tests use. */
async function install(name: string): Promise<void> {
  const isOurs = (wanted: string): boolean => Object.values(OURS).some((one) => one === wanted);
  for (const wanted of installedBy(guide(name))) {
    const from = isOurs(wanted) ? modulesIn('packages') : join(ROOT, 'node_modules');
    await link(join(from, wanted), name, wanted);
  }
  await link(join(modulesIn('packages'), COMMAND), name, '.bin/openaisle');
}

interface Stage extends AsyncDisposable {
  world: World;
  keeper: Member;
  home: string;
}

interface StageOptions extends Pick<WorldOptions, 'port'> {
  finalityBlocks?: number;
}

/** Starts a market with seven listings of its maintainer, for a reader with an empty home folder. */
async function openStage(name: string, { finalityBlocks = 2, ...options }: StageOptions): Promise<Stage> {
  const world = await startWorld({ ...options, chain: { blockTimeSeconds: 1, finalityBlocks } });
  const keeper = await world.join('keeper');
  for (let id = 1; id <= 5; id += 1) expect((await listGoods(world, keeper, newGoods())).status).toBe(201);
  const sixth = newGoods({ title: 'Receipt reader', artifact: 'other rows' });
  const seventh = newGoods({ title: 'Invoice parser', artifact: 'rows, one per line' });
  for (const goods of [sixth, seventh]) expect((await listGoods(world, keeper, goods)).status).toBe(201);
  const home = join(folder, name);
  await install(name);
  return { world, keeper, home, [Symbol.asyncDispose]: () => world.stop() };
}

/** Returns the address of the wallet that the reader created with the CLI. */
async function walletIn(home: string): Promise<Hex | null> {
  const path = join(home, '.config/openaisle/wallet.json');
  const text = await readFile(path, 'utf8').catch(() => null);
  return text === null ? null : toHex(toBytes((JSON.parse(text) as { address: Hex }).address));
}

interface Reader {
  wallets: Hex[];
  read(blocks: readonly Block[]): Promise<string[]>;
}

function readerOf({ world, keeper, home }: Stage, wallet: TestAccount, member: Member): Reader {
  const wallets: Hex[] = [wallet.address];
  const bin = join(home, 'node_modules/.bin');
  return {
    wallets,
    read: (blocks) =>
      runGuide(blocks, {
        home,
        env: { PATH: `${bin}:${PATH}` },
        here: { 'https://market.example': world.url, 'https://rpc.example': world.chain.url },
        input: `${wallet.key}\n${member.key}\n`,
        before: async (code) => {
          if (!code.includes('openaisle appeal')) return;
          const body = { listing_id: 9, reason_code: 'other', reason: 'It looks copied.' };
          expect((await world.ask('POST', '/api/mod/remove', { key: keeper.key, body })).status).toBe(200);
        },
        after: async () => {
          const made = await walletIn(home);
          if (made === null || wallets.includes(made)) return;
          wallets.push(made);
          await fund(world.chain, [{ address: made, usdcUnits: UNITS }]);
        },
        check: checkTypes,
      }),
  };
}

/** Compiles a typed program with the strictest options. */
async function checkTypes(path: string): Promise<void> {
  if (!path.endsWith('.mts')) return;
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const modules = ['--ignoreConfig', '--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022'];
  const types = ['--skipLibCheck', '--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')];
  const run = promisify(execFile)(process.execPath, [tsc, ...modules, ...types, path]);
  await run.catch((error: { stdout: string }) => Promise.reject(new Error(error.stdout)));
}

describe('a guide', () => {
  test.concurrent.each(rotated<(typeof GUIDES)[number]>(import.meta.filename, GUIDES))(
    '$name is true, word for word',
    { timeout: SLOW_MS },
    async ({ name, finalityBlocks, goods, fees }) => {
      await using stage = await openStage(name, { finalityBlocks, port: await freePort() });
      const { world } = stage;
      const wallet = await fundedWallet(world, UNITS);
      const reader = readerOf(stage, wallet, await world.join('quill'));
      expect(lackingIn(guide(name))).toEqual([]);
      await reader.read(guide(name));
      const paidTo = async ({ address }: TestAccount) =>
        (await Promise.all(reader.wallets.map((from) => paidUnits(world.chain, from, address)))).flat();
      expect(await paidTo(sellerOne)).toEqual(goods);
      expect(await paidTo(treasury)).toEqual(fees);
    },
  );

  test.concurrent('audit is true, too', { timeout: SLOW_MS }, async () => {
    await using stage = await openStage('audit', {});
    const { world, home } = stage;
    const wallet = await fundedWallet(world, UNITS);
    expect((await listPaid(world, await world.join('quill'), newGoods(), wallet)).status).toBe(201);
    const outputs = await runGuide(guide('audit'), {
      home,
      cwd: ROOT,
      env: { PATH, DATABASE_URL: world.db.url },
      here: { 'https://market.example': world.url, 'https://rpc.example': world.chain.url },
    });
    // Both programs must have read the same log.
    const hashes = outputs.flatMap((text) =>
      [...text.matchAll(/running hash ([0-9a-f]{64})/g)].map(([, hash]) => hash),
    );
    expect(hashes).toHaveLength(2);
    expect(new Set(hashes).size).toBe(1);
  });
});

describe('what a guide shows', () => {
  const ran = (markdown: string): Promise<string[]> =>
    runGuide(blocksOf(markdown), { home: folder, cwd: folder, env: {}, here: {} });

  test('is noticed where it does not hold', async () => {
    await expect(ran('```sh\necho a\n```\n\n```text\na\n```\n')).resolves.toEqual(['a\n']);
    await expect(ran('```sh\necho a\n```\n\n```text\nb\n```\n')).rejects.toThrow('line 5: b');
    await expect(ran('```sh\nfalse\necho a\n```\n')).rejects.toThrow('line 1 did not end well');
    expect(() => blocksOf('```\necho a\n```\n')).toThrow('line 1: a block of “”');
    expect(() => blocksOf('```js\nlet a;\n```\n')).toThrow('without its file name');
    const lacking = "```js\n// a.mjs\nimport {} from 'viem/accounts';\n```\n```sh\nopenaisle buy 7\n```\n";
    expect(lackingIn(blocksOf(lacking))).toEqual(['viem', 'openaisle', 'a.mjs is not run']);
  });

  test('may leave out what another run need not repeat, and nothing else', () => {
    expect(missingFrom('paid 2 USDC\nin 0x12', 'paid … USDC\nin 0x…\n')).toBeNull();
    expect(missingFrom('paid 2 USDC\nin 0x12', 'in 0x…\npaid … USDC')).toContain('paid');
    expect(missingFrom('paid 2 USDC', 'paid 3 USDC')).toContain('paid 3');
  });
});
