import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packAll } from '../../packages/pack.ts';
import { type TestAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { isHex } from '../../src/platform/hex.ts';
import { rotated } from '../suite/rotation.ts';
import { holdsSecret } from '../support/canary.ts';
import { type FoundNode, findNodes } from '../support/find-nodes.ts';
import { freePort } from '../support/free-port.ts';
import { type Member, paidUnits, startWorld, type World } from '../support/market-world.ts';
import { fundedWallet, listGoods, newGoods } from '../support/trade.ts';
import { modeOf } from '../world/run-cli.ts';
import { codeOf, codesOf, type EmptyProject, installInto } from './empty-project.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const SLOW_MS = 300_000;
const PRICE_UNITS = 2_500_000n;
const FEE_UNITS = 1_000_000n;
const { sellerOne, treasury } = WORLD_ACCOUNTS;

/** Node versions that the manifests allow. */
const NODES = findNodes().filter((node) => node.satisfies(20, 19));
const INSTALLATIONS = rotated(
  import.meta.filename,
  (['sdk', 'cli'] as const).flatMap((name) => NODES.map((node) => ({ name, node }))),
);
const nodesFor = (name: 'sdk' | 'cli'): FoundNode[] =>
  INSTALLATIONS.filter((one) => one.name === name).map(({ node }) => node);

let tarballs: string;
let sdkTarball = '';
let cliTarball = '';
let world: World;
beforeAll(async () => {
  tarballs = await mkdtemp(join(tmpdir(), 'openaisle-tarballs-'));
  [sdkTarball = '', cliTarball = ''] = packAll(tarballs);
  // Mine blocks automatically, so that a payment becomes final while the program waits.
  world = await startWorld({ port: await freePort(), chain: { blockTimeSeconds: 1, finalityBlocks: 2 } });
  const keeper = await world.join('keeper');
  const listed = await listGoods(world, keeper, newGoods({ title: 'Invoice parser', artifact: 'the parser itself' }));
  expect(listed.status).toBe(201);
}, SLOW_MS);
afterAll(async () => {
  await world?.stop();
  await rm(tarballs, { recursive: true, force: true });
});

async function readme(name: string): Promise<string> {
  return await readFile(join(ROOT, 'packages', name, 'README.md'), 'utf8');
}

let told = 0;

/** Returns unique words, because the market refuses goods that are nearly the same as earlier ones. */
function ownWords(): string {
  told += 1;
  return Array.from({ length: 12 }, (_, at) => `word${(told * 7919 + at * 104_729) % 99_991}`).join(' ');
}

function ownGoods(program: string): string {
  const own = program.replace(/artifact: '[^']*'/, `artifact: '${ownWords()}'`);
  expect(own).not.toBe(program);
  return own;
}

/** Returns the README's program with this market's URL. */
async function sdkProgram(): Promise<string> {
  const program = codeOf(await readme('sdk'), 'js').replace('https://market.example', world.url);
  expect(program).toContain(world.url);
  return ownGoods(program);
}

/** Converts a program to CommonJS with `require`. */
function withRequire(program: string): string {
  const imports = program.replaceAll(/^import (\{[^}]*\}) from ('[^']*');$/gm, 'const $1 = require($2);');
  const [head = '', ...body] = imports.split('\n\n');
  return `${head}\n(async () => {\n${body.join('\n\n')}})();\n`;
}

describe.each(nodesFor('sdk'))('openaisle-sdk on Node $version', (node) => {
  let project: EmptyProject;
  beforeAll(async () => {
    project = await installInto(node, sdkTarball);
  }, SLOW_MS);
  afterAll(() => project?.remove());

  test('is small', () => {
    expect(project.packages).toBeLessThanOrEqual(18);
    expect(project.megabytes).toBeGreaterThan(20);
    expect(project.megabytes).toBeLessThan(95);
  });

  const kinds = [
    ['import', 'program.mjs', (program: string) => program],
    ['require', 'program.cjs', withRequire],
  ] as const;
  test.each(kinds)(
    'by %s the README’s program searches, buys under its cap, and lists',
    { timeout: SLOW_MS },
    async (kind, file, write) => {
      const wallet = await fundedWallet(world, 10_000_000n);
      const member = await world.join(`${kind}-${node.version.replaceAll('.', '-')}`);
      await project.write(file, write(await sdkProgram()));
      const said = await project.run('node', [file], secretsOf(wallet, member));
      expect(said).toMatch(/^Invoice parser: the parser itself \(paid in 0x[0-9a-f]{64}\)\nlisted: http\S+\n$/);
      expect(await paidUnits(world.chain, wallet.address, sellerOne.address)).toEqual([PRICE_UNITS]);
      expect(await paidUnits(world.chain, wallet.address, treasury.address)).toEqual([FEE_UNITS]);
      const [, path = ''] = /listed: (\S+)/.exec(said) ?? [];
      expect((await fetch(path, { headers: { accept: 'application/json' } })).status).toBe(200);
      // A second run must return the purchased goods and the listing, and pay nothing.
      expect(await project.run('node', [file], secretsOf(wallet, member))).toBe(said);
      expect(await paidUnits(world.chain, wallet.address, sellerOne.address)).toEqual([PRICE_UNITS]);
      expect(await paidUnits(world.chain, wallet.address, treasury.address)).toEqual([FEE_UNITS]);
    },
  );

  test('the README’s program buys nothing above its cap', { timeout: SLOW_MS }, async () => {
    const wallet = await fundedWallet(world, 10_000_000n);
    const member = await world.join(`capped-${node.version.replaceAll('.', '-')}`);
    const capped = (await sdkProgram()).replace('maxPriceUsdc: 2.5', 'maxPriceUsdc: 2.4');
    await project.write('capped.mjs', capped);
    const run = project.run('node', ['capped.mjs'], secretsOf(wallet, member));
    await expect(run).rejects.toThrow(/TermsRefused.*the price is above maxPriceUsdc; nothing was signed/);
    expect(await paidUnits(world.chain, wallet.address, sellerOne.address)).toEqual([]);
  });
});

function secretsOf(wallet: TestAccount, member: Member): Record<string, string> {
  return { WALLET_KEY: wallet.key, OPENAISLE_KEY: member.key };
}

describe.each(nodesFor('cli'))('openaisle on Node $version', (node: FoundNode) => {
  let project: EmptyProject;
  beforeAll(async () => {
    project = await installInto(node, cliTarball);
  }, SLOW_MS);
  afterAll(() => project?.remove());

  test('is small', () => {
    expect(project.megabytes).toBeGreaterThan(20);
    expect(project.megabytes).toBeLessThan(140);
  });

  test('the README’s commands run one after another', { timeout: SLOW_MS }, async () => {
    const handle = `ink-${node.version.replaceAll('.', '-')}`;
    const [first = '', then = ''] = codesOf(await readme('cli'), 'sh').map((block) =>
      block.replace('https://market.example', world.url).replace('--handle ink', `--handle ${handle}`),
    );
    const env = { HOME: project.folder, OPENAISLE_MARKET: world.url, npm_config_offline: 'true' };
    const made = await project.run('bash', ['-e', '-c', first], env);
    const address = /0x[0-9a-fA-F]{40}/.exec(made)?.[0].toLowerCase() ?? '';
    if (!isHex(address, 20)) throw new Error(`no address in: ${made}`);
    await fund(world.chain, [{ address, usdcUnits: 10_000_000n }]);
    await project.write('notes.md', ownWords());
    const said = await project.run('bash', ['-e', '-c', then], env);
    expect(said).toContain('Invoice parser');
    expect(said).toContain(`${handle}`);
    expect(await paidUnits(world.chain, address, sellerOne.address)).toEqual([PRICE_UNITS]);
    expect(await paidUnits(world.chain, address, treasury.address)).toEqual([FEE_UNITS]);
    expect(holdsSecret(made + said)).toBe(false);
    const file = join(project.folder, '.config/openaisle', new URL(world.url).host.replace(':', '_'), `${handle}.json`);
    expect(await modeOf(file)).toBe('0600');
    const version = await project.run('npx', ['openaisle', '--version'], { npm_config_offline: 'true' });
    expect(version).toContain(JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')).version);
  });
});
