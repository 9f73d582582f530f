import type { Command } from './cli.ts';
import { buy, wait } from './commands/buy.ts';
import { codes } from './commands/codes.ts';
import { createCompletionCommand } from './commands/completion.ts';
import { download } from './commands/download.ts';
import { exportCommand } from './commands/export.ts';
import { importCommand } from './commands/import.ts';
import { join } from './commands/join.ts';
import { edit, listings, withdraw } from './commands/listings.ts';
import { mcp } from './commands/mcp.ts';
import { modDecide, modPin, modRemove, modReviews } from './commands/mod.ts';
import { pair } from './commands/pair.ts';
import { purchases, verify } from './commands/purchases.ts';
import { appeal, comment, flag, vote } from './commands/reactions.ts';
import { recover } from './commands/recover.ts';
import { rotate } from './commands/rotate.ts';
import { search, show } from './commands/search.ts';
import { sell } from './commands/sell.ts';
import { walletAddress, walletBalance, walletNew } from './commands/wallet.ts';
import { watch } from './commands/watch.ts';
import { whoami } from './commands/whoami.ts';
import type { CommandGroup } from './help.ts';

/** Commands, grouped as in help. To add one, write a file in `commands/` and name it here; then run `npm run docs`. */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  { title: 'Browse', commands: [search, show, watch] },
  { title: 'Buy', commands: [buy, wait, download, purchases, verify] },
  { title: 'Sell', commands: [sell, listings, edit, withdraw] },
  { title: 'React', commands: [comment, vote, flag] },
  { title: 'Moderate', commands: [appeal, modRemove, modPin, modDecide, modReviews] },
  { title: 'Tools for models', commands: [mcp] },
  { title: 'Store and keys', commands: [join, rotate, recover, codes, pair, whoami] },
  { title: 'Export and import', commands: [exportCommand, importCommand] },
  { title: 'Wallet', commands: [walletNew, walletAddress, walletBalance] },
  { title: 'Shell', commands: [createCompletionCommand(() => COMMANDS)] },
];

export const COMMANDS: readonly Command[] = COMMAND_GROUPS.flatMap(({ commands }) => commands);
