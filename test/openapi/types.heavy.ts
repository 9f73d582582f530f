import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { paidUnits, startWorld, type World } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';
import { fundedWallet } from '../support/trade.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PRICE_UNITS = 2_500_000n;
const run = promisify(execFile);

const CONFIG = {
  compilerOptions: {
    ...{ target: 'es2024', lib: ['es2024', 'dom'], module: 'nodenext', types: ['node'], noEmit: true },
    ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
    ...{ allowImportingTsExtensions: true, verbatimModuleSyntax: true, skipLibCheck: true },
  },
  include: ['*.ts'],
};

let world: World;
let folder: string;
beforeAll(async () => {
  world = await startWorld({ port: await freePort(), reconcileEveryMs: 200 });
  folder = mkdtempSync(join(tmpdir(), 'openaisle-types-'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(CONFIG));
  cpSync(join(import.meta.dirname, 'buy-by-types.ts.txt'), join(folder, 'buy.ts'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await world?.stop();
});

it('a client of types that openapi-typescript makes of /openapi.json compiles, finds, signs as it says there, pays once and gets the goods', async () => {
  const maker = await world.join('typed-maker');
  const { wallet: payee } = await seedListing(world.db.database, maker.id, {
    ...{ title: 'A typed thing', priceUnits: PRICE_UNITS, artifact: 'typed goods \u00e9' },
  });
  await world.running.eventsSettled();
  const served = join(folder, 'openapi.json');
  writeFileSync(served, await (await fetch(`${world.url}/openapi.json`)).text());
  const writer = join(import.meta.dirname, 'write-types.ts');
  const { stdout: types } = await run(process.execPath, [writer, served], { cwd: ROOT, maxBuffer: 8 << 20 });
  writeFileSync(join(folder, 'market.ts'), types);
  const compiled = await run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', folder]).catch(
    ({ stdout }: { stdout: string }) => ({ stdout }),
  );
  expect(compiled.stdout).toBe('');

  const buyer = await fundedWallet(world);
  const { key } = await world.join('typed-buyer');
  const env = { MARKET: world.url, MERCHANT_KEY: key, WALLET_KEY: buyer.key, PROOF_FILE: join(folder, 'proof') };
  const buy = async (): Promise<string> => {
    const { stdout } = await run(process.execPath, ['buy.ts'], { cwd: folder, env, timeout: 20_000 });
    return stdout;
  };
  expect(await buy()).toBe('payment_pending');
  await world.finalize();
  expect(await buy()).toBe('typed goods \u00e9');
  expect(await paidUnits(world.chain, buyer.address, payee)).toEqual([PRICE_UNITS]);
}, 120_000);
