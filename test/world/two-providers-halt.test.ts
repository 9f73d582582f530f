import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalChain, startChain } from '../../src/local/chain/start-chain.ts';
import { createMarket, type RunningMarket } from '../../src/market/create-market.ts';
import {
  type CommandMarket,
  readChainStatus,
  resetWatermark,
  resumePayments,
} from '../../src/market/payments/chain/commands.ts';
import { haltPayments } from '../../src/market/payments/chain/store.ts';
import { readBlock } from '../../src/platform/chain/reads.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { startTestChain } from '../support/chain.ts';
import { claim, openIntent, payDirectly } from '../support/direct.ts';
import { askMarket, signProof, TEST_PEPPER } from '../support/market-world.ts';
import { recordingLog } from '../support/recording-log.ts';
import { tradeOnPair } from '../support/rpc-pair.ts';
import { startScriptedFacilitator } from '../support/scripted-facilitator.ts';
import { GAS_WEI, PRICE } from '../support/trade.ts';

// Save one common past to two files, from which the two chains diverge.
const folder = await mkdtemp(join(tmpdir(), 'openaisle-two-chains-'));
const [here, there] = [join(folder, 'here.json'), join(folder, 'there.json')];
afterAll(() => rm(folder, { recursive: true, force: true }));
const past = await startTestChain({ finalityBlocks: 4, stateFile: here });
await past.stop();
await copyFile(here, there);

const facilitator = await startScriptedFacilitator();
afterAll(() => facilitator.close());
const pair = await tradeOnPair({ chain: { finalityBlocks: 4, stateFile: here }, facilitatorUrl: facilitator.url });
const { world, buyer, primary, spare, pay, pass, readStatus } = pair;
let other: LocalChain;
beforeAll(async () => {
  facilitator.script({ verify: 'forward', settle: 'forward', to: world.facilitator.url });
  other = await startChain({ finalityBlocks: 4, stateFile: there });
  // Another coinbase makes the blocks differ. Go beyond the first chain's height.
  await other.rpc.call('anvil_setCoinbase', [`0x${'0e'.repeat(20)}`]);
  await other.mine(200);
});
afterAll(() => other.stop());

const payments = () => world.running.payments;
const watch = () => payments().watch;
const readyz = async () => (await world.ask('GET', '/readyz')).body;
const commands = (): CommandMarket => world.running.market;
const events = (name: string) => world.logLines.filter(({ event }) => event === name);

function splitOff(): void {
  spare.leadTo(other.url);
}
async function rejoin(): Promise<void> {
  primary.leadTo(world.chain.url);
  spare.leadTo(world.chain.url);
  await watch().check();
}

async function byProof() {
  const paid = await pay();
  return { id: paid.id, status: () => readStatus(paid) };
}

async function byTransfer() {
  const { id } = await pair.goods();
  const payer = await pair.wallet(PRICE, GAS_WEI);
  const paid = await payDirectly(world, { buyer, listingId: id, payer, units: PRICE });
  await claim(world, buyer, id, paid);
  const status = async () => {
    const { body } = await world.ask('GET', `/api/payment?intent_id=${paid.intent.id}`);
    return (body['payment'] as { payment_status: string }).payment_status;
  };
  return { id, status };
}

describe('two providers that call different blocks final', () => {
  it('halt deliveries in every process until an operator resumes them, restarts included', async () => {
    const paid = await pay();
    await world.finalize();
    splitOff();
    await payments().reconcileOnce();
    expect(await readStatus(paid)).toBe('payment_pending');
    expect(await readyz()).toMatchObject({
      status: 'ready',
      payments: 'halted',
      why: 'finalized_conflict',
      detail: expect.stringMatching(/^at the final height \d+ provider 1 has 0x[0-9a-f]{64} and provider 2 has 0x/),
    });
    expect(events('payments_halted_by_conflict')).toHaveLength(1);

    await rejoin();
    await pass();
    expect(await readStatus(paid)).toBe('payment_pending');
    const second = await startSecond();
    await second.running.payments.watch.check();
    await second.running.payments.reconcileOnce();
    expect(await readStatus(paid)).toBe('payment_pending');
    expect((await askMarket(second.url, 'GET', '/readyz')).body).toMatchObject({
      payments: 'halted',
      why: 'finalized_conflict',
    });
    expect(second.lines()).toContain('payments_halted');

    const resumed = await resumePayments(commands(), 'the second provider was on a fork; it is back');
    expect(resumed).toMatchObject({ status: 'resumed', chain_id: 8453 });
    await watch().check();
    await second.running.payments.reconcileOnce();
    expect(await readStatus(paid)).toBe('completed');
    expect(await readyz()).toMatchObject({ payments: 'open' });
    expect(events('payments_resumed')).toHaveLength(1);
    await second.stop();
    const rows = await world.db.database.rows(
      sql`select c.act, c.reason, h.reason as halted_for, h.resumed_at is not null as ended
        from chain_commands c join chain_halts h on h.resumed_by = c.id`,
    );
    expect(rows).toEqual([
      {
        act: 'resume',
        reason: 'the second provider was on a fork; it is back',
        halted_for: 'finalized_conflict',
        ended: true,
      },
    ]);
    await expect(resumePayments(commands(), 'again')).rejects.toThrow('not halted');
  });

  it('while halted no payment begins, and what was begun goes no further', async () => {
    const { id, terms } = await pair.goods();
    const proof = await signProof(world.chain, await pair.wallet(), terms);
    const begun = await pair.goods();
    const early = await signProof(world.chain, await pair.wallet(), begun.terms);
    facilitator.script({ verify: 'garbage', settle: 'garbage' });
    const again = () => world.buy(begun.id, { key: buyer.key, proof: early.v2 });
    expect((await again()).body['reason']).toBe('verification_pending');
    facilitator.script({ verify: 'forward', settle: 'forward', to: world.facilitator.url });
    const asked = { ...facilitator.calls };
    splitOff();
    await watch().check();
    await rejoin();
    expect((await readyz())['payments']).toBe('halted');
    const bought = await world.buy(id, { key: buyer.key, proof: proof.v2 });
    expect([bought.status, bought.body['reason'], bought.body['do_not_pay_again']]).toEqual([
      503,
      'payment_check_unavailable',
      false,
    ]);
    await expect(openIntent(world, buyer, id)).rejects.toThrow('payment_check_unavailable');
    const waiting = await again();
    expect([waiting.status, waiting.body['reason'], waiting.body['do_not_pay_again']]).toEqual([
      503,
      'verification_pending',
      true,
    ]);
    expect(facilitator.calls).toEqual(asked);
    const rows = await world.db.database.rows(sql`select id from payments where listing_id = ${id}`);
    expect(rows).toEqual([]);
    await resumePayments(commands(), 'a test');
    await watch().check();
    expect((await world.buy(id, { key: buyer.key, proof: proof.v2 })).status).toBe(202);
    expect((await again()).status).toBe(202);
  });

  it.each(['x402', 'a transfer'])(
    'a halt that comes while a delivery by %s is being written down stops it',
    async (path) => {
      const { id, status } = path === 'x402' ? await byProof() : await byTransfer();
      await world.finalize();
      let passing: Promise<void> | null = null;
      await world.db.database.transaction(async (tx) => {
        await tx.run(sql`select from listings where id = ${id} for update`);
        passing = payments().reconcileOnce();
        const waiting = sql`select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        await expect.poll(async () => (await tx.rows(waiting)).length).toBeGreaterThan(0);
        const halt = { chainId: 8453n, reason: 'finalized_conflict', detail: 'a test', now: new Date() };
        expect(await haltPayments(tx, halt)).toBe(true);
      });
      await passing;
      expect(await status()).toBe('payment_pending');
      await resumePayments(commands(), 'a test');
      await payments().reconcileOnce();
      expect(await status()).toBe('completed');
    },
  );

  it('resumed while they still differ, they halt again', async () => {
    splitOff();
    await watch().check();
    await resumePayments(commands(), 'too early');
    expect((await readyz())['payments']).toBe('open');
    await watch().check();
    expect((await readyz())['why']).toBe('finalized_conflict');
    await rejoin();
    await resumePayments(commands(), 'now they agree');
    await watch().check();
    expect((await readyz())['payments']).toBe('open');
  });
});

it('providers that contradict the watermark are not believed, and heal by themselves', async () => {
  const paid = await pay();
  await world.finalize();
  await watch().check();
  primary.leadTo(other.url);
  spare.leadTo(other.url);
  await pass();
  expect(await readyz()).toMatchObject({ payments: 'halted', why: 'watermark_contradicted' });
  expect(await readStatus(paid)).toBe('payment_pending');
  const halts = await world.db.database.rows(sql`select id from chain_halts where resumed_at is null`);
  expect(halts).toEqual([]);
  await rejoin();
  await pass();
  expect(await readStatus(paid)).toBe('completed');
});

describe('the watermark', () => {
  it('goes back only to a block that the providers have and call final, and the market goes on from there at once', async () => {
    const mark = (await readChainStatus(commands())).watermark;
    primary.leadTo(other.url);
    spare.leadTo(other.url);
    const latest = (await readBlock(other.rpc, 'latest'))?.number ?? 0n;
    const block = await readBlock(other.rpc, latest - 20n);
    const mine = await readBlock(world.chain.rpc, 3n);
    if (block === null || mine === null) throw new Error('no block');
    const to = { number: BigInt(mark?.block_number ?? 0) - 1n };
    const real = await readBlock(other.rpc, to.number);
    if (real === null) throw new Error('no block');
    const reset = (number: bigint, hash: `0x${string}`) =>
      resetWatermark(commands(), { number, hash }, 'the chain was rewritten');
    await expect(reset(real.number, mine.hash)).rejects.toThrow(/provider 1 has 0x.* at .*, not/);
    await expect(reset(latest, (await readBlock(other.rpc, latest))?.hash ?? mine.hash)).rejects.toThrow(
      'is not final',
    );
    await expect(reset(latest + 1n, mine.hash)).rejects.toThrow('has no block');
    expect((await readyz())['why']).toBe('watermark_contradicted');

    expect(await reset(real.number, real.hash)).toEqual({
      status: 'reset',
      chain_id: 8453,
      before: { block_number: mark?.block_number, block_hash: mark?.block_hash },
      after: { block_number: Number(real.number), block_hash: real.hash },
    });
    expect(await readyz()).toMatchObject({ payments: 'open', finality: { block_number: expect.any(Number) } });
    await watch().check();
    expect(events('watermark_reset')).toHaveLength(1);
    const rows = await world.db.database.rows(
      sql`select act, reason, before->>'block_hash' as before, after->>'block_hash' as after from chain_commands order by id desc limit 1`,
    );
    expect(rows).toEqual([
      { act: 'reset_watermark', reason: 'the chain was rewritten', before: mark?.block_hash, after: real.hash },
    ]);
  });

  it('cannot be moved back, nor a halt ended, by a statement that writes no command down; and commands stay', async () => {
    const { database } = world.db;
    for (const statement of [
      sql`update chain_watermarks set block_number = block_number - 1`,
      sql`update chain_watermarks set block_number = block_number - 1, resets = resets + 1`,
      sql`update chain_watermarks set resets = resets + 1`,
      sql`delete from chain_watermarks`,
      sql`truncate chain_watermarks`,
      sql`insert into chain_halts (chain_id, reason, detail, halted_at) values (1, 'finalized_conflict', 'x', now());`,
      sql`update chain_halts set resumed_at = now(), resumed_by = (select max(id) from chain_commands) where resumed_at is null`,
      sql`update chain_halts set resumed_at = null, resumed_by = null`,
      sql`delete from chain_halts`,
      sql`update chain_commands set reason = 'another'`,
      sql`delete from chain_commands`,
      sql`truncate chain_commands cascade`,
    ]) {
      if (statement.text.startsWith('insert')) await database.run(statement);
      else await expect(database.run(statement), statement.text).rejects.toMatchObject({ code: '23001' });
    }
  });
});

/** Starts a second market, which the database sees as a separate process. */
async function startSecond(): Promise<{
  running: RunningMarket;
  url: string;
  lines(): string[];
  stop(): Promise<void>;
}> {
  const { log, lines } = recordingLog();
  const database = await openDatabase({ url: world.db.url, poolSize: 4, allowUnsafe: true });
  const running = createMarket({
    config: world.running.market.config,
    database,
    clock: pair.clock,
    random: systemRandom,
    log,
    pepper: TEST_PEPPER,
    reconcileEveryMs: 3_600_000,
    watchEveryMs: 3_600_000,
  });
  const { url } = await running.start();
  return {
    running,
    url,
    lines: () => lines.map(({ event }) => event),
    stop: async () => {
      await running.stop({ drainMs: 0 });
      await database.close();
    },
  };
}
