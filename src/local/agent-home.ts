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
 * A folder for `OPENAISLE_HOME`: a wallet that has USDC of this chain, and a merchant of this market. They are the guest's, so that what
 * is done with them changes nothing that the story finds again. An earlier start's are kept. Returns the folder.
 */
export async function makeAgentHome({ dataDir, marketUrl }: LocalWorld): Promise<string> {
  const home = join(dataDir, 'agent');
  const { key, address } = WORLD_ACCOUNTS.guest;
  const wallet = join(home, 'wallet.json');
  if (!existsSync(wallet)) {
    await makeFolderOf(wallet);
    await writePrivate(wallet, printWallet(key, address), 'new');
  }
  // A merchant belongs to an address of the market: on other ports it is another one.
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
