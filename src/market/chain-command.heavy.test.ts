import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { compileCache } from '../../test/support/compile-cache.ts';
import { testDatabase } from '../../test/support/database.ts';
import { onServer } from '../../test/support/run-postgres.ts';
import { type LocalChain, startChain } from '../local/chain/start-chain.ts';
import { type Block, readBlock } from '../platform/chain/reads.ts';
import { type Hex, toBytes } from '../platform/hex.ts';
import { systemRandom } from '../platform/random.ts';

const COMMAND = fileURLToPath(new URL('chain-command.ts', import.meta.url));
const ROLE = `openaisle_app_${systemRandom.bytes(6).toString('hex')}`;
const PASSWORD = 'only-for-a-test';
const SECRET = 'a-key-of-the-provider';
const db = testDatabase();
let chain: LocalChain;
let marked: Block;

beforeAll(async () => {
  chain = await startChain({ finalityBlocks: 2 });
  await chain.mine(20);
  marked = await blockAt(15n);
  const time = new Date(Number(marked.timestamp) * 1_000);
  await db.database.run(
    sql`insert into chain_watermarks (chain_id, block_number, block_hash, block_time, accepted_at)
      values (8453, 15, ${toBytes(marked.hash)}, ${time}, ${time})`,
  );
});
afterAll(() => chain.stop());

async function blockAt(number: bigint): Promise<Block> {
  const block = await readBlock(chain.rpc, number);
  if (block === null) throw new Error(`no block ${number}`);
  return block;
}

async function run(args: string[], changes: Record<string, string> = {}) {
  const child = spawn(process.execPath, [COMMAND, ...args], {
    env: {
      PATH: process.env['PATH'] ?? '',
      ...compileCache(),
      DATABASE_URL: db.url,
      OPENAISLE_PEPPER_FILE: 'not read',
      OPENAISLE_RPC_URLS: `${chain.url}/?key=${SECRET}`,
      OPENAISLE_FACILITATOR_URL: 'http://127.0.0.1:1',
      OPENAISLE_TREASURY: '0x00000000000000000000000000000000000000aa',
      OPENAISLE_FINALITY_MIN_AGE_SECONDS: '0',
      ...changes,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (text) => {
    stdout += String(text);
  });
  child.stderr.on('data', (text) => {
    stderr += String(text);
  });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, stdout, stderr };
}

const commands = () =>
  db.database.rows(sql`select act, reason, db_role, before, after from chain_commands order by id`);
const halt = () =>
  db.database.run(
    sql`insert into chain_halts (chain_id, reason, detail, halted_at)
      values (8453, 'finalized_conflict', 'two blocks', timestamptz '2026-01-02T03:04:05Z')`,
  );

describe('npm run chain', () => {
  it('says what it can do, and what is missing or wrong, without opening anything', async () => {
    const [help, nothing, unreasoned, unhashed, unnumbered] = await Promise.all([
      run(['--help']),
      run([]),
      run(['resume', '--reason', ' ']),
      run(['reset-watermark', '--to', '1', '--hash', '0x12', '--reason', 'r', '--json']),
      run(['reset-watermark', '--to', '0x1', '--hash', marked.hash, '--reason', 'r']),
    ]);
    expect(help).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining('npm run chain -- resume --reason TEXT'),
    });
    expect(nothing).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^name one command: status, resume/),
    });
    expect(unreasoned).toMatchObject({ code: 1, stderr: '--reason TEXT is needed, 1 to 1000 characters\n' });
    expect(JSON.parse(unhashed.stderr)).toEqual({
      status: 'failed',
      error: '--hash must be a block hash: 0x and 64 hex digits',
    });
    expect(unnumbered).toMatchObject({ code: 1, stderr: '--to must be a block number\n' });
  });

  it('shows how things stand, and the provider without its key', async () => {
    const [words, json] = await Promise.all([run(['status']), run(['status', '--json'])]);
    expect(words).toMatchObject({ code: 0, stderr: '' });
    expect(words.stdout).toContain(
      `payments: open\nwatermark: 15 ${marked.hash}\nprovider 1 (${chain.url}/...): chain 8453`,
    );
    expect(JSON.parse(json.stdout)).toMatchObject({
      chain_id: 8453,
      payments: 'open',
      halt: null,
      watermark: { block_number: 15, block_hash: marked.hash, resets: 0 },
      providers: [{ provider: 1, answers: true, latest: 20, finalized: { block_number: 18 }, holds_watermark: true }],
      commands: [],
    });
    expect(words.stdout + json.stdout).not.toContain(SECRET);
  });

  it('resumes, once, and writes down why', async () => {
    expect(await run(['resume', '--reason', 'r'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not halted'),
    });
    await halt();
    expect((await run(['status'])).stdout).toContain(
      'payments: halted since 2026-01-02T03:04:05.000Z (finalized_conflict): two blocks',
    );
    const { code, stdout, stderr } = await run(['resume', '--reason', 'the second one was wrong', '--json']);
    expect({ code, outcome: JSON.parse(stdout) }).toEqual({
      code: 0,
      outcome: { status: 'resumed', chain_id: 8453, halted_at: '2026-01-02T03:04:05.000Z', detail: 'two blocks' },
    });
    expect(JSON.parse(stderr)).toMatchObject({
      level: 'warn',
      event: 'chain_command',
      name: 'resume',
      reason: 'the second one was wrong',
    });
    expect(await commands()).toMatchObject([
      {
        act: 'resume',
        reason: 'the second one was wrong',
        before: { detail: 'two blocks' },
        after: { resumed_at: expect.any(String) },
      },
    ]);
    expect((await run(['status'])).stdout).toMatch(
      /^payments: open[\s\S]*command 1 at .*: resume: the second one was wrong\n$/,
    );
  });

  it('resets the watermark to a final block that the provider has under that hash, and to no other', async () => {
    const to = await blockAt(9n);
    const reset = (number: string, hash: Hex, changes = {}) =>
      run(['reset-watermark', '--to', number, '--hash', hash, '--reason', 'it was wrong', '--json'], changes);
    const refused = await Promise.all([
      reset('9', marked.hash),
      reset('20', (await blockAt(20n)).hash),
      reset('9', to.hash, { OPENAISLE_RPC_URLS: 'http://127.0.0.1:1' }),
      reset('9', to.hash, { OPENAISLE_NETWORK: 'base-sepolia' }),
    ]);
    expect(refused.map(({ code, stderr }) => [code, JSON.parse(stderr).error])).toEqual([
      [1, `provider 1 has ${to.hash} at 9, not ${marked.hash}`],
      [1, 'block 20 is not final at provider 1, whose finalized head is 18'],
      [1, expect.stringContaining('no provider can be asked for that block')],
      [1, 'provider 1 is on chain 8453'],
    ]);
    const done = await reset('9', to.hash);
    expect(JSON.parse(done.stdout)).toEqual({
      status: 'reset',
      chain_id: 8453,
      before: { block_number: 15, block_hash: marked.hash },
      after: { block_number: 9, block_hash: to.hash },
    });
    expect((await run(['status', '--json'])).stdout).toContain(
      `"watermark":{"block_number":9,"block_hash":"${to.hash}","resets":1}`,
    );
    expect((await commands()).at(-1)).toMatchObject({
      act: 'reset_watermark',
      reason: 'it was wrong',
      before: { block_number: 15 },
    });
  });
});

describe('the role of the market itself', () => {
  let roleUrl = '';
  beforeAll(async () => {
    await onServer(db.url, `create role ${ROLE} login password '${PASSWORD}'`);
    const script = await readFile(fileURLToPath(new URL('../../deploy/app-role.sql', import.meta.url)), 'utf8');
    await onServer(db.url, script.replaceAll('openaisle_app', ROLE));
    const address = new URL(db.url);
    address.username = ROLE;
    address.password = PASSWORD;
    roleUrl = address.href;
  });
  afterAll(async () => {
    await onServer(db.url, `drop owned by ${ROLE}`);
    await onServer(inject('testPostgres').adminUrl, `drop role ${ROLE}`);
  });

  it('sees how things stand and halts, but neither resumes nor resets', async () => {
    await halt();
    const before = await commands();
    const { hash } = await blockAt(8n);
    const as = { DATABASE_URL: roleUrl };
    const [status, resume, reset] = await Promise.all([
      run(['status', '--json'], as),
      run(['resume', '--reason', 'r'], as),
      run(['reset-watermark', '--to', '8', '--hash', hash, '--reason', 'r'], as),
    ]);
    expect(JSON.parse(status.stdout)).toMatchObject({ payments: 'halted' });
    for (const { code, stderr } of [resume, reset]) {
      expect([code, stderr]).toEqual([
        1,
        'this database role may not do that. Set DATABASE_URL to the address of the owner of the tables\n',
      ]);
    }
    expect(await commands()).toEqual(before);
    await onServer(
      roleUrl,
      `insert into chain_halts (chain_id, reason, detail, halted_at) values (1, 'finalized_conflict', 'by the market', now())`,
    );
    for (const statement of [
      'update chain_halts set resumed_at = now()',
      'delete from chain_halts',
      'update chain_watermarks set resets = 9',
      `insert into chain_commands (chain_id, act, reason, before, after, at) values (1, 'resume', 'r', '{}', '{}', now())`,
    ]) {
      await expect(onServer(roleUrl, statement), statement).rejects.toMatchObject({ code: '42501' });
    }
  });

  it('prints what others said as plain lines', async () => {
    const detail = 'two blocks\u001b[2J\u202e\npayments: open';
    expect(await run(['resume', '--reason', 'r'])).toMatchObject({ code: 0 });
    await db.database.run(
      sql`insert into chain_halts (chain_id, reason, detail, halted_at) values (8453, 'finalized_conflict', ${detail}, now())`,
    );
    const [words, json] = await Promise.all([run(['status']), run(['status', '--json'])]);
    expect(words.stdout).not.toMatch(/^payments: open/m);
    for (const { stdout } of [words, json]) expect(stdout).toMatch(/^(?:[^\p{Cc}\p{Cf}]|\n)*$/u);
    expect(JSON.parse(json.stdout)).toMatchObject({ payments: 'halted' });
  });
});
