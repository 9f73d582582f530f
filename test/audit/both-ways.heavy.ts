import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { type AuditedWorld, type LyingBooks, openLyingBooks, startAuditedWorld } from '../support/audited-world.ts';
import { usdcAdmin } from '../support/chain.ts';
import { type RpcServer, startRpcServer } from '../support/rpc-server.ts';
import { audit } from './audit.ts';
import type { State } from './keep-state.ts';

const { treasury, sellerOne, buyerOne, buyerThree } = WORLD_ACCOUNTS;
const NO_ADDRESS = `0x${'0'.repeat(40)}`;

let staged: AuditedWorld;
let lies: LyingBooks;
let strict: RpcServer;
let folder: string;

beforeAll(async () => {
  staged = await startAuditedWorld();
  lies = await openLyingBooks(staged.world.db.url);
  strict = await startRpcServer();
  folder = mkdtempSync(join(tmpdir(), 'audit-'));
});

afterAll(async () => {
  await strict?.close();
  await lies?.end();
  await staged?.world.stop();
  if (folder !== undefined) rmSync(folder, { recursive: true });
});

const auditNow = (more: { statePath?: string; rpcUrl?: string; fromBlock?: number } = {}) =>
  audit({ databaseUrl: staged.world.db.url, rpcUrl: staged.world.chain.url, quiet: true, ...more });

async function send(to: string, units: bigint): Promise<string> {
  const { chain } = staged.world;
  const { transactionHash } = await usdcAdmin(chain).transfer(buyerThree, to as `0x${string}`, units);
  await staged.world.finalize();
  return transactionHash;
}

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

function run(...given: string[]): Promise<Ran> {
  const program = join(import.meta.dirname, 'main.ts');
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...given], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}

const onChain = (): string[] => ['--rpc', staged.world.chain.url];
const onBooks = (): string[] => ['--database', staged.world.db.url, ...onChain()];

it('finds books and chain the same in both directions, and says what it has looked at', async () => {
  const found = await auditNow();
  expect(found.faults).toEqual([]);
  expect(found).toMatchObject({
    ...{ payments: 4, checked: 4, fees: 2, purchases: 3, listings: 3, elsewhere: 0, treasuries: [treasury.address] },
    artifacts: { count: 3 },
    to_sellers: { wallets: 1, transfers: 3, booked: 2, surplus: [{ sender: NO_ADDRESS, transfers: 1 }] },
    // Both wallets got their balance at the start of the chain.
    to_treasury: { wallets: 1, transfers: 3, booked: 2, unbooked: [{ sender: NO_ADDRESS }] },
  });
});

it('names a transfer to the treasury that is in no book, and counts what came to sellers without the market by sender', async () => {
  const { fromBlock } = { fromBlock: (await auditNow()).blocks?.to ?? 0 };
  const hash = await send(treasury.address, 1_000_000n);
  await send(sellerOne.address, 3n);
  await send(sellerOne.address, 4n);
  const found = await auditNow({ fromBlock });
  expect(found.faults).toEqual([]);
  const unbooked = { tx_hash: hash, sender: buyerThree.address, wallet: treasury.address, units: '1000000' };
  expect(found.to_treasury).toMatchObject({ transfers: 1, booked: 0, unbooked: [unbooked] });
  expect(found.to_sellers).toMatchObject({
    ...{ transfers: 2, booked: 0, unbooked: [] },
    surplus: [{ sender: buyerThree.address, transfers: 2, units: '7' }],
  });
});

it('takes what the books forgot of a fee for a transfer that is in no book', async () => {
  try {
    await lies.plant(`delete from listings where fee_id = 2; delete from fees where id = 2;
      delete from payment_proofs where payment_id = (select max(id) from payments where purpose = 'listing_fee');
      delete from payments where id = (select max(id) from payments where purpose = 'listing_fee')`);
    const units = (await auditNow()).to_treasury.unbooked.filter(({ sender }) => sender !== NO_ADDRESS);
    expect(units.map((one) => one.units)).toEqual(['1000000', '1000000']);
  } finally {
    await lies.putBack();
  }
});

it('tells a payment that is under way from an unknown one', async () => {
  try {
    await lies.plant(`update payments set status = 'settling', ended_at = null, tx_hash = null, block_number = null,
        block_time = null, log_index = null where path = 'x402' and purpose = 'purchase';
      delete from payment_proofs where purpose = 'purchase' and payment_id in (select id from payments where path = 'x402')`);
    const { to_sellers } = await auditNow();
    expect(to_sellers.surplus.map(({ sender }) => sender)).not.toContain(buyerOne.address);
  } finally {
    await lies.putBack();
  }
});

it('reads ranges that a provider takes, and splits requests that it does not', async () => {
  const open = await auditNow();
  const refused = { ranges: 0, batches: 0 };
  strict.answer(async (response, body) => {
    const asked = (Array.isArray(body) ? body : [body]) as { id: number; method: string; params: [Range] }[];
    interface Range {
      fromBlock: string;
      toBlock: string;
    }
    if (asked.length > 3) {
      refused.batches += 1;
      return void response.writeHead(413).end('too many');
    }
    const wide = asked.find(
      ({ method, params: [range] }) => method === 'eth_getLogs' && Number(range.toBlock) - Number(range.fromBlock) >= 5,
    );
    if (wide !== undefined) {
      refused.ranges += 1;
      const error = { code: -32005, message: 'query exceeds max block range' };
      return void response.end(JSON.stringify({ jsonrpc: '2.0', id: wide.id, error }));
    }
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(staged.world.chain.url, { method: 'POST', headers, body: JSON.stringify(body) });
    response.end(await answer.text());
  });
  expect(await auditNow({ rpcUrl: strict.url })).toEqual(open);
  expect(refused.ranges).toBeGreaterThan(3);
  expect(refused.batches).toBeGreaterThan(0);
});

it('goes on from where the last clean audit came to, and goes on naming what is in no book', async () => {
  const statePath = join(folder, 'goes-on.json');
  const first = await auditNow({ statePath });
  expect(first.faults).toEqual([]);
  const listing = await staged.list();
  await staged.buyByX402(listing, staged.buyers[0], buyerOne);
  await staged.world.running.eventsSettled();
  const second = await auditNow({ statePath });
  expect(second.faults).toEqual([]);
  expect(second.blocks?.from).toBe((first.blocks?.to ?? 0) + 1);
  // Only the new fee and the new sale are checked.
  expect(second).toMatchObject({ payments: 6, checked: 2, to_sellers: { transfers: 1, booked: 1 } });
  expect(second.to_treasury).toMatchObject({ transfers: 3, booked: 1 });
  expect(second.to_treasury.unbooked).toEqual(first.to_treasury.unbooked);
  const third = await auditNow({ statePath });
  expect(third).toMatchObject({ faults: [], checked: 0, to_sellers: { transfers: 0 } });
  await lies.keep();
});

it('holds everything against the chain again where what had ended is not as it was', async () => {
  const statePath = join(folder, 'changed.json');
  expect((await auditNow({ statePath })).faults).toEqual([]);
  const before = readFileSync(statePath, 'utf8');
  try {
    await lies.plant(`update payment_proofs set tx_hash = sha256('lie')
      where payment_id = (select min(id) from payments where purpose = 'purchase' and path = 'x402')`);
    const found = await auditNow({ statePath });
    expect(found.checked).toBe(found.payments);
    expect(found.faults.join('\n')).toMatch(/which the chain does not have/);
    // An audit with a fault does not advance the state, so the fault is reported again until it is fixed.
    expect(readFileSync(statePath, 'utf8')).toBe(before);
  } finally {
    await lies.putBack();
  }
  expect(await auditNow({ statePath })).toMatchObject({ faults: [], checked: 0 });
});

it('names a log that is shorter or other than the one that it remembers', async () => {
  const statePath = join(folder, 'log.json');
  expect((await auditNow({ statePath })).faults).toEqual([]);
  try {
    await lies.plant('delete from events where id = (select max(id) from events)');
    expect((await auditNow({ statePath })).faults.join('\n')).toMatch(
      /the log has no event \d+, which the state remembers: history was lost/,
    );
    await lies.putBack();
    // A superuser can fix the hashes too, so only the state kept outside the database shows the change.
    await lies.plant(`update events set canonical = convert_to(replace(convert_from(canonical, 'UTF8'),
        '"actor":"seller-one"', '"actor":"seller-two"'), 'UTF8') where kind = 'listing';
      update events set running_hash = mended.hash from (select e.id as of, running_hash(null, e.id, e.canonical) over (order by e.id)
        as hash from events e) mended where mended.of = id`);
    expect((await auditNow()).faults).toEqual([]);
    expect((await auditNow({ statePath })).faults).toEqual([
      expect.stringMatching(/the log up to event \d+ is not what the state remembers/),
    ]);
  } finally {
    await lies.putBack();
  }
});

it('says plainly what a state does not fit to', async () => {
  const statePath = join(folder, 'other.json');
  await auditNow({ statePath });
  const state = JSON.parse(readFileSync(statePath, 'utf8')) as State;
  const auditWith = (changes: Partial<State>) => {
    writeFileSync(statePath, JSON.stringify({ ...state, ...changes }));
    return auditNow({ statePath });
  };
  await expect(auditWith({ chain_id: '1' })).rejects.toThrow(
    'the state is of chain 1, and the endpoint is of chain 8453',
  );
  await expect(auditWith({ token: NO_ADDRESS })).rejects.toThrow(`the state is of the token ${NO_ADDRESS}`);
  await expect(auditWith({ of: 'market', market: 'http://127.0.0.1:1' })).rejects.toThrow(
    'is not a state of this audit',
  );
  const ahead = { ...state.block, number: state.block.number + 1_000 };
  await expect(auditWith({ block: ahead })).rejects.toThrow(`and the state has seen ${ahead.number}`);
  const forked = await auditWith({ block: { ...state.block, hash: `0x${'1'.repeat(64)}` } });
  expect(forked.faults).toEqual([expect.stringMatching(/^block \d+ is not 0x1+, which the state remembers as final$/)]);
  await expect(auditNow({ statePath: join(folder, 'nowhere', 'state') })).rejects.toThrow('cannot be read');
  writeFileSync(statePath, '{"version":1');
  await expect(auditNow({ statePath })).rejects.toThrow(
    'is not a state of this audit; name another file, or delete it',
  );
});

it('ends with 0, 1 or 2, in words or as JSON', async () => {
  const clean = await run(...onBooks(), '--quiet');
  expect(clean).toMatchObject({ code: 0, stderr: '' });
  expect(clean.stdout).toMatch(/^books: 6 payments \(6 held against the chain\), 6 proofs, 3 fees/);
  expect(clean.stdout).toMatch(/in no book: 0x\w{64}, 1 USDC from 0x\w{40} in block \d+\n/);
  expect(clean.stdout).toMatch(/transfers: blocks \d+ to \d+ \(finalized\) of chain 8453\n/);
  expect(clean.stdout).toMatch(/\n0 faults\n$/);
  try {
    await lies.plant(`update artifacts set content = 'x' where listing_id = 2`);
    const faulty = await run(...onBooks(), '--json');
    expect(faulty.code).toBe(1);
    expect(JSON.parse(faulty.stdout)['faults']).toEqual(['the artifact of listing 2 is not what its commitment says']);
  } finally {
    await lies.putBack();
  }
  expect(await run('--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('--market URL') });
  expect(await run(...onChain())).toMatchObject({ code: 2, stderr: expect.stringContaining('either --database or') });
  expect(await run('--frobnicate')).toMatchObject({ code: 2, stderr: expect.stringContaining('frobnicate') });
  const away = await run('--database', 'postgres://nobody@127.0.0.1:1/none', ...onChain());
  expect(away).toMatchObject({ code: 2, stderr: expect.stringMatching(/^the audit could not finish: .*ECONNREFUSED/) });
});
