import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packAll } from '../../packages/pack.ts';
import { findNodes } from '../support/find-nodes.ts';
import { type EmptyProject, installInto } from './empty-project.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const SLOW_MS = 300_000;
const [OWN_NODE] = findNodes();

let tarballs: string;
let project: EmptyProject;
beforeAll(async () => {
  tarballs = await mkdtemp(join(tmpdir(), 'openaisle-tarballs-'));
  const [tarball = ''] = packAll(tarballs);
  if (OWN_NODE === undefined) throw new Error('there is no Node');
  project = await installInto(OWN_NODE, tarball);
}, SLOW_MS);
afterAll(async () => {
  await project?.remove();
  await rm(tarballs, { recursive: true, force: true });
});

/** Code that must compile, and code that must not, so that a type exported as `any` is noticed. */
const CONSUMER = `import {
  buy, createClient, createMemoryProofStore, type Delivery, type ListingSummary, MarketError, type ProofStore, rowsOf,
  shelfPages, type Wallet,
} from 'openaisle-sdk';
import { walletFromKey } from 'openaisle-sdk/wallet';

const wallet: Wallet = walletFromKey('');
const client = createClient({ baseUrl: 'https://market.example' });
export async function run(): Promise<Delivery> {
  const { body } = await client.getOfficialFacts();
  const treasury: string = body.treasury;
  // @ts-expect-error a number is no text
  const fee: string = body.listing_fee_usdc;
  for await (const row of rowsOf(shelfPages(client, { q: treasury, max_price_usdc: 1 }))) seen.push(row);
  // @ts-expect-error there is no such filter
  shelfPages(client, { colour: fee });
  // @ts-expect-error a cap is not left out
  await buy({ client, wallet, listingId: 1 });
  return await buy({ client, wallet, listingId: 1, maxPriceUsdc: 1, proofStore: store });
}
const seen: ListingSummary[] = [];
const store: ProofStore = createMemoryProofStore();
export const reasonOf = (error: unknown): string | null => (error instanceof MarketError ? error.reason : null);
`;

describe('the types', () => {
  const resolutions = [
    ['node16', 'node16'],
    ['nodenext', 'nodenext'],
    ['bundler', 'esnext'],
  ] as const;
  const files = [
    ['an ES module', 'consumer.mts'],
    ['CommonJS', 'consumer.cts'],
  ] as const;
  const cases = resolutions.flatMap(([resolution, module]) =>
    files.map(([kind, file]) => ({ resolution, module, kind, file })),
  );

  test.each(cases)('hold under $resolution in $kind', { timeout: SLOW_MS }, async ({ resolution, module, file }) => {
    await project.write(file, CONSUMER);
    // Under node16, the declarations of viem's dependencies conflict with it. All other modes check every declaration.
    const skip = resolution === 'node16' ? ['--skipLibCheck'] : [];
    const options = ['--module', module, '--moduleResolution', resolution, '--target', 'es2022', '--types', ''];
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const asked = [tsc, '--ignoreConfig', '--noEmit', '--strict', ...options, ...skip, file];
    expect(await project.run(process.execPath, asked)).toBe('');
  });
});

describe('in a browser', () => {
  async function bundle(entry: string): Promise<{ imports: string[]; gzipBytes: number }> {
    await project.write('entry.mjs', entry);
    const made = await rolldown({ input: join(project.folder, 'entry.mjs'), cwd: project.folder, platform: 'browser' });
    try {
      const { output } = await made.generate({ format: 'es', minify: true });
      expect(output).toHaveLength(1);
      return { imports: output[0].imports, gzipBytes: gzipSync(output[0].code, { level: 9 }).length };
    } finally {
      await made.close();
    }
  }

  test('the entry is small, and needs nothing that a browser lacks', { timeout: SLOW_MS }, async () => {
    const whole = await bundle("export * from 'openaisle-sdk';");
    expect(whole.imports).toEqual([]);
    expect(whole.gzipBytes).toBeGreaterThan(30_000);
    expect(whole.gzipBytes).toBeLessThan(84_000);
    const withWallet = await bundle("export * from 'openaisle-sdk'; export * from 'openaisle-sdk/wallet';");
    expect(withWallet.imports).toEqual([]);
    expect(withWallet.gzipBytes).toBeLessThan(103_000);
  });

  test('what is not used is left out', { timeout: SLOW_MS }, async () => {
    const client = await bundle("export { createClient } from 'openaisle-sdk';");
    const constant = await bundle("export { LISTING_FEE_UNITS } from 'openaisle-sdk';");
    expect(client.gzipBytes).toBeLessThan(67_000);
    expect(constant.gzipBytes).toBeLessThan(5_000);
  });
});
