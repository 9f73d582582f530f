import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { testDatabase } from '../support/database.ts';
import { mainProcesses } from '../support/main-process.ts';
import { WIDE_LIMITS } from '../support/market-context.ts';
import { cliRuns, joining, modeOf, readStored } from './run-cli.ts';

describe('the command line against a running market', () => {
  const db = testDatabase();
  const markets = mainProcesses(db, 'describe');
  const cli = cliRuns();
  let market = '';

  beforeAll(async () => {
    const running = markets.start(await markets.onGivenDatabase({ OPENAISLE_LIMITS: WIDE_LIMITS }));
    await vi.waitUntil(() => running.lines('market_listening').length > 0, { timeout: 50_000, interval: 20 });
    market = running.url;
  });

  const me = async (key: string | null) =>
    (await fetch(`${market}/api/me`, { headers: { authorization: `Bearer ${key}` } })).status;

  test('a store is opened, its key replaced, its codes renewed, and won back, all from one file of mode 0600', async () => {
    const file = cli.fileOf(market, 'ink');
    const joined = await cli.run([...joining('ink'), '--json'], { market });
    expect(joined.json()).toEqual({
      status: 'ok',
      market,
      handle: 'ink',
      merchant_id: expect.any(Number),
      file,
    });
    expect([joined.code, await modeOf(file), await modeOf(dirname(file))]).toEqual([0, '0600', '0700']);
    const first = await readStored(file);
    expect(first).toMatchObject({ market, handle: 'ink', pending: null });
    expect(first.recovery_codes).toHaveLength(8);

    const standing = await cli.run(['whoami', '--json'], { market });
    expect(standing.json()).toMatchObject({ status: 'ok', listings: 0, pending_codes: null, warnings: [], file });

    const rotated = await cli.run(['rotate', '--file', file]);
    expect([rotated.code, rotated.stderr]).toEqual([0, '']);
    const second = await readStored(file);
    expect([await me(first.merchant_key), await me(second.merchant_key)]).toEqual([401, 200]);
    expect(second).toEqual({ ...first, merchant_key: expect.any(String) });

    const renewed = await cli.run(['codes', '--json'], { market });
    expect(renewed.json()).toMatchObject({ status: 'ok', valid: 'now' });
    const third = await readStored(file);
    expect(third.recovery_codes.filter((code) => second.recovery_codes.includes(code))).toEqual([]);

    // Used and replaced codes are refused, while the codes in the file work.
    const late = await cli.run(['recover', '--code-stdin', '--json'], {
      market,
      input: `${second.recovery_codes[0]}\n`,
    });
    expect([late.code, late.json()['reason']]).toEqual([1, 'recovery_code_refused']);
    expect(late.stderr).toMatch(/^refused: .+\n(?:.+\n)*next: .+/);
    const recovered = await cli.run(['recover'], { market });
    expect([recovered.code, recovered.stderr]).toEqual([0, '']);
    const fourth = await readStored(file);
    expect([await me(third.merchant_key), await me(fourth.merchant_key)]).toEqual([401, 200]);
    expect(await modeOf(file)).toBe('0600');
  });

  test('codes made with the key alone wait next to the old ones, and whoami says so', async () => {
    await cli.run(joining('wait'), { market });
    const file = cli.fileOf(market, 'wait');
    const before = await readStored(file);
    const made = await cli.run(['codes', '--key-only', '--json', '--file', file]);
    expect(made.json()).toMatchObject({ status: 'ok', valid: 'later' });
    const after = await readStored(file);
    expect(after.recovery_codes).toEqual(before.recovery_codes);
    expect(after.waiting_codes?.recovery_codes).toHaveLength(8);
    const own = await cli.run(['whoami', '--file', file]);
    expect(own.stdout).toMatch(/warning: new recovery codes, made from this file, become valid at /);
    const stranger = await cli.run(['whoami', '--key-stdin'], { market, input: `${after.merchant_key}\n` });
    expect(stranger.stdout).toMatch(
      /warning: someone made new recovery codes with this key, and they aren’t in this file/,
    );
  });

  test('a pairing code goes into a file of its own, and a second one takes its place', async () => {
    await cli.run(joining('pairer'), { market });
    const paired = await cli.run(['pair', '--handle', 'pairer', '--json'], { market });
    const file = join(dirname(cli.fileOf(market, 'pairer')), 'pairer.pairing.json');
    expect(paired.json()).toEqual({
      status: 'ok',
      market,
      handle: 'pairer',
      expires_at: expect.any(String),
      file,
    });
    const first = await readStored(file);
    expect(await modeOf(file)).toBe('0600');
    expect((await cli.run(['pair', '--file', cli.fileOf(market, 'pairer')])).code).toBe(0);
    expect(await readStored(file)).not.toEqual(first);
    const onIdentity = await cli.run(['pair', '--handle', 'pairer', '--out', cli.fileOf(market, 'pairer')], { market });
    expect([onIdentity.code, onIdentity.stderr]).toEqual([2, expect.stringContaining('isn’t a pairing file')]);
  });

  test('a file that others can read is refused, with the command that mends it, and nothing is sent', async () => {
    const file = join(cli.folder(), 'open.json');
    await writeFile(file, '{}', { mode: 0o600 });
    await chmod(file, 0o640);
    const refused = await cli.run(['whoami', '--file', file, '--json']);
    expect([refused.code, refused.json()['reason']]).toEqual([2, 'file_refused']);
    expect(refused.stderr).toContain(`chmod 600 ${file}`);
  });

  test('the key of one market is not sent to another', async () => {
    const file = cli.fileOf(market, 'ink');
    const other = await cli.run(['whoami', '--file', file, '--market', 'http://127.0.0.1:1']);
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining(`belongs to ${market}`)]);
  });

  test('what a market gives back is printed without secrets and without characters that steer a terminal', async () => {
    const key = (await readStored(cli.fileOf(market, 'ink'))).merchant_key;
    const hostile = createServer((request, response) => {
      const said = `you sent ${request.headers.authorization} \u001b[2J`;
      const texts = { title: said, detail: said, error: said, next_step: said, type: 'x', request_id: 'r' };
      response.writeHead(400, { 'content-type': 'application/problem+json' });
      response.end(
        JSON.stringify({ ...texts, status: 400, reason: 'invalid_fields', error_class: 'bad_input', retry: 'never' }),
      );
    });
    hostile.listen(0, '127.0.0.1');
    await once(hostile, 'listening');
    const { port } = hostile.address() as AddressInfo;
    for (const more of [[], ['--json']]) {
      // Every run's output is also searched for secrets.
      const told = await cli.run(['whoami', '--key-stdin', '--market', `http://127.0.0.1:${port}`, ...more], {
        input: `${key}\n`,
      });
      expect([told.code, told.stderr]).toEqual([1, expect.stringContaining('| you sent Bearer [secret] \\u{1b}[2J')]);
      expect(told.stdout + told.stderr).not.toContain(String.fromCodePoint(27));
    }
    hostile.closeAllConnections();
    hostile.close();
  });

  test('where the output is no terminal --reveal is refused, and a join says what it misses', async () => {
    const revealed = await cli.run(['rotate', '--reveal'], { market });
    expect([revealed.code, revealed.stderr]).toEqual([2, expect.stringContaining('no_terminal')]);
    const bare = await cli.run(['join', '--handle', 'bare', '--json'], { market });
    expect([bare.code, bare.json()['title']]).toEqual([2, 'Missing: --model, --class, --human-approved']);
  });

  test('where no market answers the outcome is unknown, and no secret is printed', async () => {
    const unanswered = await cli.run([...joining('late'), '--json'], { market: 'http://127.0.0.1:1' });
    expect([unanswered.code, unanswered.json()['status']]).toEqual([3, 'unknown']);
    expect(unanswered.stderr).toMatch(/next: .+/);
  });
});
