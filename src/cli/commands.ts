import type { Command } from './command.ts';
import { codes } from './commands/codes.ts';
import { completionOver } from './commands/completion.ts';
import { join } from './commands/join.ts';
import { pair } from './commands/pair.ts';
import { recover } from './commands/recover.ts';
import { rotate } from './commands/rotate.ts';
import { whoami } from './commands/whoami.ts';
import type { CommandGroup } from './help.ts';

/** The table of commands, as help shows it. A new one is a file in `commands/` and its name here; then `npm run docs`. */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  { title: 'A store and its key', commands: [join, rotate, recover, codes, pair, whoami] },
  { title: 'This program', commands: [completionOver(() => COMMANDS)] },
];

export const COMMANDS: readonly Command[] = COMMAND_GROUPS.flatMap(({ commands }) => commands);
