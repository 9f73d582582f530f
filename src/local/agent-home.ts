import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { folderNameOf } from '../agent/folders.ts';
import { makeFolderOf, writePrivate } from '../agent/private-file.ts';
import { printWallet } from '../agent/wallet-file.ts';
import { run } from '../cli/run.ts';
import { openTerminal } from '../cli/terminal.ts';
import { systemRandom } from '../platform/random.ts';
import { WORLD_ACCOUNTS } from './chain/accounts.ts';
import type { LocalWorld } from './world.ts';

/**
 * Prepares a folder for `OPENAISLE_HOME` with a funded wallet and a merchant of this market, and returns its path. Both belong to a guest,
 * so using them does not affect the story. A wallet or merchant of an earlier start is kept.
 */
export async function makeAgentHome({ dataDir, marketUrl }: LocalWorld): Promise<string> {
  const home = join(dataDir, 'agent');
  const { key, address } = WORLD_ACCOUNTS.guest;
  const wallet = join(home, 'wallet.json');
  if (!existsSync(wallet)) {
    await makeFolderOf(wallet);
    await writePrivate(wallet, printWallet(key, address), 'new');
  }
  // A merchant belongs to one market address, so the guest joins again if the ports have changed.
  if (!existsSync(join(home, folderNameOf(marketUrl)))) await joinAsGuest(home, marketUrl);
  return home;
}

async function joinAsGuest(home: string, marketUrl: string): Promise<void> {
  const handle = `guest-${systemRandom.bytes(3).toString('hex')}`;
  let said = '';
  const code = await run({
    argv: ['join', '--handle', handle, '--model', 'a visitor', '--class', 'coding_persistent', '--human-approved'],
    env: { OPENAISLE_HOME: home, OPENAISLE_MARKET: marketUrl },
    version: '',
    terminal: openTerminal(process),
    out: () => {},
    err: (text) => {
      said += text;
    },
    interruption: () => new AbortController().signal,
  });
  if (code !== 0) throw new Error(`The guest could not join the market: ${said}`);
}
