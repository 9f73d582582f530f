import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { testDatabase } from '../support/database.ts';
import { mainProcesses } from '../support/main-process.ts';
import { WIDE_LIMITS } from '../support/market-context.ts';
import { type MarketGate, openGate } from './market-gate.ts';
import { type CliRun, cliRuns, joining, readStored, type StoredIdentity } from './run-cli.ts';

describe('the command line, interrupted', () => {
  const db = testDatabase();
  const markets = mainProcesses(db, 'describe');
  const cli = cliRuns();
  let market = '';
  let gate: MarketGate;

  beforeAll(async () => {
    const running = markets.start(await markets.onGivenDatabase({ OPENAISLE_LIMITS: WIDE_LIMITS }));
    await vi.waitUntil(() => running.lines('market_listening').length > 0, { timeout: 100_000, interval: 20 });
    market = running.url;
    gate = await openGate(() => market);
  });
  afterAll(() => gate.close());

  /** Returns the status with which the market answers this key. */
  const keyStatus = async (key: string | null | undefined): Promise<number> =>
    (await fetch(`${market}/api/me`, { headers: { authorization: `Bearer ${key}` } })).status;
  const resume = (command: string, file: string): Promise<CliRun> =>
    cli.run([command, '--resume', '--json', '--file', file]);
  const opened = async (handle: string): Promise<{ file: string; stored: StoredIdentity }> => {
    gate.set('confirm', 'pass');
    const { stderr } = await cli.run(joining(handle), { market: gate.url });
    expect(stderr).toBe('');
    const file = cli.fileOf(gate.url, handle);
    return { file, stored: await readStored(file) };
  };

  /** Kills the command while its confirmation waits at the gate: the key is saved but not confirmed. */
  const killedAtConfirm = async (args: readonly string[], market: string): Promise<void> => {
    gate.set('confirm', 'hold');
    const { child, ended } = cli.start(args, { market });
    await gate.held('confirm');
    await expectNoSecretAround(child.pid);
    child.kill('SIGKILL');
    await ended;
  };

  /** Checks that arguments and environment hold no secret and that the process has no children. */
  async function expectNoSecretAround(pid: number | undefined): Promise<void> {
    if (process.platform !== 'linux') return;
    const around = await Promise.all(['cmdline', 'environ'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8')));
    expect(around.filter((text) => /_(?:sk|rc|pc)_/.test(text))).toEqual([]);
    expect(await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).toBe('');
  }

  describe.each([false, true])('killed between save and confirm (the confirm arrives all the same: %s)', (arrives) => {
    const name = arrives ? 'arrives' : 'lost';

    test('a join goes on from the file', async () => {
      await killedAtConfirm(joining(`join-${name}`), gate.url);
      const file = cli.fileOf(gate.url, `join-${name}`);
      const { pending, merchant_key } = await readStored(file);
      expect([pending?.door, merchant_key]).toEqual(['register', null]);
      await letArrive(arrives, pending?.merchant_key);
      expect((await resume('join', file)).json()).toMatchObject({ status: 'ok', handle: `join-${name}` });
      const stored = await readStored(file);
      expect(stored).toMatchObject({ merchant_key: pending?.merchant_key, pending: null });
      expect(await keyStatus(stored.merchant_key)).toBe(200);
    });

    test('a rotation goes on from the file, which holds the old key until then', async () => {
      const { file, stored } = await opened(`turn-${name}`);
      await killedAtConfirm(['rotate', '--file', file], gate.url);
      const between = await readStored(file);
      expect(between).toMatchObject({ merchant_key: stored.merchant_key, pending: { door: 'rotate' } });
      const again = await cli.run(['rotate', '--file', file]);
      expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('openaisle rotate --resume --file')]);
      await letArrive(arrives, between.pending?.merchant_key);
      expect((await resume('rotate', file)).code).toBe(0);
      const after = await readStored(file);
      expect(after).toMatchObject({ merchant_key: between.pending?.merchant_key, pending: null });
      expect([await keyStatus(stored.merchant_key), await keyStatus(after.merchant_key)]).toEqual([401, 200]);
    });
  });

  /** Either forwards the held confirmation of the killed client and waits until the key is active, or drops it. */
  async function letArrive(arrives: boolean, key: string | undefined): Promise<void> {
    gate.set('confirm', 'pass');
    if (!arrives) return gate.drop();
    gate.letGo();
    await expect.poll(() => keyStatus(key), { timeout: 20_000 }).toBe(200);
  }

  test.each(['lose_answer', 'lose_request'] as const)(
    'a connection cut at the confirm (%s) leaves the outcome unknown, and a resume tells the truth',
    async (cut) => {
      const handle = `cut-${cut.slice(5)}`;
      gate.set('confirm', cut);
      const joined = await cli.spawned([...joining(handle), '--json'], { market: gate.url });
      const file = cli.fileOf(gate.url, handle);
      expect([joined.code, joined.json()]).toEqual([3, expect.objectContaining({ status: 'unknown', file })]);
      expect(joined.stderr).toContain(`openaisle join --resume --file ${file}`);
      expect(await keyStatus((await readStored(file)).pending?.merchant_key)).toBe(cut === 'lose_answer' ? 200 : 401);
      gate.set('confirm', 'pass');
      expect((await resume('join', file)).code).toBe(0);

      for (const [command, door] of [
        ['rotate', 'rotate'],
        ['recover', 'recovery'],
      ] as const) {
        const before = await readStored(file);
        gate.set('confirm', cut);
        expect((await cli.run([command, '--file', file])).code).toBe(3);
        const between = await readStored(file);
        expect(between).toMatchObject({ merchant_key: before.merchant_key, pending: { door } });
        gate.set('confirm', 'pass');
        expect((await resume(command, file)).code).toBe(0);
        const after = await readStored(file);
        expect(after).toMatchObject({ merchant_key: between.pending?.merchant_key, pending: null });
        expect([await keyStatus(before.merchant_key), await keyStatus(after.merchant_key)]).toEqual([401, 200]);
      }
    },
  );

  test('a stage that is over is told apart, and the key in force stays', async () => {
    const { file, stored } = await opened('lapsed');
    gate.set('confirm', 'lose_request');
    await cli.run(['rotate', '--file', file]);
    const { pending } = await readStored(file);
    await cancel('rotate', pending);
    gate.set('confirm', 'pass');
    const told = await resume('rotate', file);
    expect([told.code, told.json()]).toEqual([1, expect.objectContaining({ reason: 'stage_over' })]);
    expect(told.stderr).toContain('The key in the file is still valid.');
    expect(await readStored(file)).toEqual(stored);
    expect((await cli.run(['rotate', '--file', file])).code).toBe(0);

    gate.set('confirm', 'lose_request');
    await cli.run(joining('never'), { market: gate.url });
    const never = cli.fileOf(gate.url, 'never');
    await cancel('register', (await readStored(never)).pending);
    gate.set('confirm', 'pass');
    expect((await resume('join', never)).json()).toMatchObject({ status: 'refused', reason: 'stage_over' });
    await expect(readStored(never)).rejects.toThrow('ENOENT');
  });

  async function cancel(door: string, pending: StoredIdentity['pending']): Promise<void> {
    const { session, csrf } = pending as unknown as { session: string; csrf: string };
    const response = await fetch(`${market}/api/${door}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ action: 'cancel', session, csrf }),
    });
    expect(response.status).toBe(200);
  }

  test('two rotations of one key at once, in two files: one wins, and the other file says that its key is over', async () => {
    const { file } = await opened('twice');
    const copy = join(cli.folder(), 'copy.json');
    await cp(file, copy);
    gate.set('confirm', 'hold');
    const both = [cli.start(['rotate', '--json', '--file', file]), cli.start(['rotate', '--json', '--file', copy])];
    await gate.held('confirm', 2);
    gate.set('confirm', 'pass');
    gate.letGo();
    const runs = await Promise.all(both.map(({ ended }) => ended));
    expect(runs.map(({ code }) => code).sort()).toEqual([0, 1]);
    const winner = runs[0]?.code === 0 ? file : copy;
    const loser = winner === file ? copy : file;
    expect(runs.find(({ code }) => code === 1)?.json()).toMatchObject({ reason: 'key_replaced', file: loser });
    expect(await keyStatus((await readStored(winner)).merchant_key)).toBe(200);
    expect(await readStored(loser)).toMatchObject({ pending: null, key_refused_at: expect.any(String) });
  });

  test('two at once on one file: the second does not wait and changes nothing', async () => {
    const { file } = await opened('single');
    gate.set('confirm', 'hold');
    const first = cli.start(['rotate', '--file', file]);
    await gate.held('confirm');
    const second = await cli.spawned(['rotate', '--json', '--file', file]);
    expect([second.code, second.json()['reason']]).toEqual([2, 'file_in_use']);
    gate.set('confirm', 'pass');
    gate.letGo();
    expect((await first.ended).code).toBe(0);
    expect(await keyStatus((await readStored(file)).merchant_key)).toBe(200);
  });

  test('a rotation whose key was replaced before its outcome was known says so', async () => {
    const { file } = await opened('overtaken');
    gate.set('confirm', 'lose_answer');
    expect((await cli.run(['rotate', '--file', file])).code).toBe(3);
    gate.set('confirm', 'pass');
    const { recovery_codes } = await readStored(file);
    const home = join(cli.folder(), 'elsewhere');
    const input = `${recovery_codes[0]}\n`;
    expect((await cli.run(['recover', '--code-stdin'], { market: gate.url, home, input })).code).toBe(0);
    const told = await resume('rotate', file);
    expect([told.code, told.json()['reason']]).toEqual([1, 'key_replaced']);
    expect(await readStored(file)).toMatchObject({ pending: null, key_refused_at: expect.any(String) });
    expect(await keyStatus((await readStored(cli.fileOf(gate.url, 'overtaken', home))).merchant_key)).toBe(200);
  });

  test('a handle taken meanwhile costs neither key nor codes: another one is confirmed, and the file bears its name', async () => {
    gate.set('confirm', 'hold');
    const first = cli.start([...joining('wanted'), '--json'], { market: gate.url });
    await gate.held('confirm');
    expect((await cli.run(joining('wanted'), { market, home: join(cli.folder(), 'rival') })).code).toBe(0);
    gate.set('confirm', 'pass');
    gate.letGo();
    const taken = await first.ended;
    expect([taken.code, taken.json()['reason']]).toEqual([1, 'handle_taken']);
    expect(taken.stderr).toContain('--new-handle NAME');
    const from = cli.fileOf(gate.url, 'wanted');
    const { pending } = await readStored(from);
    const renamed = await cli.run(['join', '--resume', '--json', '--file', from, '--new-handle', 'second-best']);
    const to = cli.fileOf(gate.url, 'second-best');
    expect(renamed.json()).toMatchObject({ status: 'ok', handle: 'second-best', file: to });
    expect(await readStored(to)).toMatchObject({ handle: 'second-best', merchant_key: pending?.merchant_key });
    await expect(readStored(from)).rejects.toThrow('ENOENT');
  });

  test('where the request for new codes never arrived the same command makes them at once', async () => {
    const { file, stored } = await opened('lost-request');
    gate.set('generate', 'lose_request');
    const cut = await cli.run(['codes', '--json', '--file', file]);
    expect([cut.code, cut.json()]).toMatchObject([
      3,
      { next_step: expect.stringMatching(/^Run openaisle codes again/) },
    ]);
    gate.set('generate', 'pass');
    expect((await cli.run(['codes', '--json', '--file', file])).json()).toMatchObject({ status: 'ok', valid: 'now' });
    const renewed = await readStored(file);
    expect(renewed.codes_in_doubt_since).toBeNull();
    expect(renewed.recovery_codes.filter((code) => stored.recovery_codes.includes(code))).toEqual([]);
  });

  test('new codes that were never seen are in doubt, and stay so until others are seen', async () => {
    const { file, stored } = await opened('doubt');
    gate.set('generate', 'lose_answer');
    const cut = await cli.run(['codes', '--json', '--file', file]);
    expect([cut.code, cut.json()['status']]).toEqual([3, 'unknown']);
    expect(await readStored(file)).toEqual({ ...stored, codes_in_doubt_since: expect.any(String) });
    gate.set('generate', 'pass');
    expect((await cli.run(['whoami', '--file', file])).stdout).toMatch(
      /warning: .*the codes in the file may be invalid/,
    );
    expect((await cli.run(['codes', '--json', '--file', file])).json()).toMatchObject({
      reason: 'recovery_code_refused',
    });
    expect((await cli.run(['codes', '--key-only', '--json', '--file', file])).json()).toMatchObject({ valid: 'later' });
    expect((await readStored(file)).waiting_codes?.recovery_codes).toHaveLength(8);
  });
});
