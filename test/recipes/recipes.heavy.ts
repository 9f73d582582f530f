import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, it } from 'vitest';

// Recipes of CONTRIBUTING that change a file or two: each is carried out in a copy of the sources, which then has to compile, and whose texts
// must not say what was true before.

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const node = join(root, 'node_modules/node/bin/node');
/** It prints all texts, the interface included. */
const MOST_BYTES = 64 * 1024 * 1024;
const copies: string[] = [];

afterEach(async () => {
  for (const copy of copies.splice(0)) await rm(copy, { recursive: true });
});

type Change = (text: string) => string;

async function copyWith(file: string, change: Change): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'openaisle-recipe-'));
  copies.push(copy);
  for (const part of ['src', 'test/recipes', 'test/support', 'package.json', 'tsconfig.json', 'migrations'])
    await cp(join(root, part), join(copy, part), { recursive: true });
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
  await changeIn(copy, file, change);
  return copy;
}

async function changeIn(copy: string, file: string, change: Change): Promise<void> {
  const before = await readFile(join(copy, file), 'utf8');
  const after = change(before);
  expect(after).not.toBe(before);
  await writeFile(join(copy, file), after);
}

/** What the compiler objects to. Tests apart: they name the network that they are about. */
async function compile(copy: string): Promise<string> {
  const exclude = ['**/*.test.ts'];
  const projects = {
    'tsconfig.recipe.json': { extends: './tsconfig.json', include: ['src'], exclude: ['src/wallet', ...exclude] },
    'src/wallet/tsconfig.recipe.json': { extends: './tsconfig.json', exclude },
  };
  let said = '';
  for (const [path, config] of Object.entries(projects)) {
    await writeFile(join(copy, path), JSON.stringify(config));
    const compiled = run(join(root, 'node_modules/.bin/tsc'), ['--noEmit', '-p', path], { cwd: copy });
    said += (await compiled.catch((error: { stdout: string }) => error)).stdout;
  }
  return said;
}

const mustCompile = async (copy: string): Promise<void> => expect(await compile(copy)).toBe('');

const sayEverything = async (copy: string): Promise<string> =>
  (await run(node, ['test/recipes/say-everything.ts'], { cwd: copy, maxBuffer: MOST_BYTES })).stdout;

it('another network instead of Base: one row of contract/networks.ts', { timeout: 180_000 }, async () => {
  const copy = await copyWith('src/contract/networks.ts', (text) =>
    text
      .replace("['base', ", "['polygon', ")
      .replace("  base: {\n    name: 'base',", "  polygon: {\n    name: 'polygon',")
      .replace("displayName: 'Base',", "displayName: 'Polygon',")
      .replaceAll(/\b8453(?=n?\b)/g, '137')
      .replace('0x833589fcd6edb6e08f4c7c32d4f71b54bda02913', '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359')
      .replace('https://basescan.org', 'https://polygonscan.com'),
  );
  await mustCompile(copy);
  const said = await sayEverything(copy);
  for (const wanted of ['on Polygon', 'eip155:137', '"network":"polygon"', 'polygonscan.com', '0x3c499c542c'])
    expect(said).toContain(wanted);
  expect(said.match(/.{0,40}(?:\bBase\b(?! Sepolia)|"base"|`base`|\b8453\b|basescan|0x833589).{0,40}/gi)).toBeNull();
});

it('another listing fee: LISTING_FEE_UNITS, and the SDK signs for it', { timeout: 180_000 }, async () => {
  const copy = await copyWith('src/contract/vocabulary.ts', (text) =>
    text.replace('LISTING_FEE_UNITS = 1_000_000n', 'LISTING_FEE_UNITS = 2_500_000n'),
  );
  await mustCompile(copy);
  const said = await sayEverything(copy);
  expect(said.match(/\b2\.5 USDC\b/g)?.length).toBeGreaterThan(8);
  expect(said).toContain('"amountUnits":"2500000"');
  expect(said.match(/.{0,40}(?<![\d.])1 USDC\b.{0,40}/g)).toBeNull();
});

it('an aisle: one row; a sort: a name and a rule; a field that shelves filter by: one row and a grant', {
  timeout: 180_000,
}, async () => {
  const copy = await copyWith('src/contract/vocabulary.ts', (text) =>
    text
      .replace(
        "  world: { name: 'World'",
        "  games: { name: 'Games', holds: 'what is played' },\n  world: { name: 'World'",
      )
      .replace("  price_asc: 'Price", "  talk: 'Most comments',\n  price_asc: 'Price"),
  );
  // Whoever forgets the rule is told where it belongs.
  expect(await compile(copy)).toMatch(/catalog\/model\/sorts\.ts.*'talk'/);
  await changeIn(copy, 'src/market/catalog/model/sorts.ts', (text) =>
    text.replace(
      '  price_asc: {',
      "  talk: { key: 'comments', direction: 'descending', leadsPinned: true, rises: true },\n  price_asc: {",
    ),
  );
  await changeIn(copy, 'src/contract/listing-fields.ts', (text) =>
    text.replace(
      '} as const satisfies Record<string, { label',
      "  spoken: { label: 'Language', example: 'de', text: z.string().max(35).regex(/^[a-z-]+$/), says: 'the language' },\n} as const satisfies Record<string, { label",
    ),
  );
  await mustCompile(copy);
  const said = await sayEverything(copy);
  for (const wanted of ['games', 'talk', 'spoken']) expect(said).toContain(JSON.stringify(`"${wanted}"`).slice(1, -1));
  expect(said).toContain('exactly this language');
});
