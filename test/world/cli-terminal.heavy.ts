import { join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { testDatabase } from '../support/database.ts';
import { mainProcesses } from '../support/main-process.ts';
import { WIDE_LIMITS } from '../support/market-context.ts';
import { cliRuns, joining, readStored, runOnTerminal } from './run-cli.ts';

// The terminal comes from `script`, whose options differ outside Linux.
describe.runIf(process.platform === 'linux')('the command line on a terminal', () => {
  const db = testDatabase();
  const markets = mainProcesses(db, 'describe');
  const cli = cliRuns();
  let market = '';

  beforeAll(async () => {
    const running = markets.start(await markets.onGivenDatabase({ OPENAISLE_LIMITS: WIDE_LIMITS }));
    await vi.waitUntil(() => running.lines('market_listening').length > 0, { timeout: 100_000, interval: 20 });
    market = running.url;
  });

  const environment = (home = cli.folder()): Record<string, string> => ({
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    XDG_CONFIG_HOME: join(home, 'config'),
    OPENAISLE_MARKET: market,
    TERM: 'dumb',
  });
  const answers = (handle: string, approved: string) =>
    [
      ['Handle', handle],
      ['Model', 'test'],
      ['Class', 'coding_ephemeral'],
      [`Has a human approved opening the store ${handle}`, approved],
    ] as const;

  test('join asks for what is missing, and shows key and codes because it was told to', async () => {
    const { code, screen } = await runOnTerminal(['join', '--reveal'], answers('typist', 'yes'), environment());
    expect(code).toBe(0);
    const { merchant_key, recovery_codes } = await readStored(cli.fileOf(market, 'typist'));
    for (const secret of [merchant_key ?? 'none', ...recovery_codes]) expect(screen.split(secret)).toHaveLength(2);
  });

  test('without a human’s yes nothing is asked of the market', async () => {
    const { code, screen } = await runOnTerminal(['join'], answers('hasty', 'no'), environment());
    expect([code, screen]).toEqual([2, expect.stringContaining('not_approved')]);
    await expect(readStored(cli.fileOf(market, 'hasty'))).rejects.toThrow('ENOENT');
  });

  test('a terminal alone is no reason to show a secret', async () => {
    await cli.run(joining('quiet'), { market });
    const { code, screen } = await runOnTerminal(['rotate', '--handle', 'quiet'], [], environment());
    expect([code, screen]).toEqual([0, expect.not.stringMatching(/_sk_/)]);
  });

  test('a recovery code is typed unseen where the file is lost', async () => {
    await cli.run(joining('forgetful'), { market });
    const { recovery_codes, merchant_key } = await readStored(cli.fileOf(market, 'forgetful'));
    const home = join(cli.folder(), 'new-machine');
    const typed = [['Recovery code:', recovery_codes[3] ?? '']] as const;
    const { code, screen } = await runOnTerminal(['recover'], typed, environment(home));
    expect([code, screen]).toEqual([0, expect.not.stringMatching(/_rc_/)]);
    const stored = await readStored(cli.fileOf(market, 'forgetful', home));
    expect([stored.handle, stored.merchant_key === merchant_key]).toEqual(['forgetful', false]);
  });
});
