import { formed, ofOwner, ofSource, own } from '../../contract/own-words.ts';
import { CLIENT_CLASSES } from '../../contract/vocabulary.ts';
import { UnreadableAnswer } from '../../sdk/errors.ts';
import { type Cli, type Command, type CommandOutput, connectTo } from '../cli.ts';
import { wrongUse } from '../cli-error.ts';
import type { Finished } from '../finish-pending-change.ts';
import { type IdentityFile, readIdentity, secretsOf, withIdentityFile } from '../identity.ts';
import { defaultFile, findFile, marketOf, namedFile, namedMarket, requiredMarket } from '../open-account.ts';
import { pendingOf, resumeIdentityCommand, runIdentityCommand } from '../run-identity-command.ts';

async function joinMarket(cli: Cli): Promise<CommandOutput> {
  return reportJoined(await (cli.options.resume === true ? resumeJoin(cli) : beginJoin(cli)));
}

async function beginJoin(cli: Cli): Promise<Finished> {
  const market = requiredMarket(cli);
  const { handle, model, clientClass } = await readJoiner(cli);
  const path = namedFile(cli) ?? defaultFile(cli, market, handle);
  return runIdentityCommand(cli, {
    path,
    market: () => market,
    check: (content) => {
      if (content?.merchant_key != null)
        throw wrongUse(
          own`${ofOwner(path)} already has the key of ${formed('handle', content.handle)}`,
          own`Name another file with --out.`,
          'file_exists',
        );
    },
    begin: async () => {
      const body = { action: 'stage', handle, model, client_class: clientClass, human_approved: true } as const;
      const { body: staged } = await connectTo(cli, market)().register({ body });
      if (staged.status !== 'staged')
        throw new UnreadableAnswer('unexpected', own`the answer doesn’t fit a registration`);
      return { pending: pendingOf('register', staged), handle, currentKey: null };
    },
  });
}

interface Joiner {
  handle: string;
  model: string;
  clientClass: (typeof CLIENT_CLASSES)[number];
}

async function readJoiner({ options, terminal }: Cli): Promise<Joiner> {
  const missing = (['handle', 'model', 'class', 'human-approved'] as const).filter(
    (name) => options[name] === undefined,
  );
  if (missing.length > 0 && !terminal.canAsk)
    throw wrongUse(
      own`Missing: ${ofSource(missing.map((name) => `--${name}`).join(', '))}`,
      own`Run openaisle join --help to see what each one means.`,
    );
  const handle = options.handle ?? (await terminal.ask('Handle (3-32 characters: a-z, 0-9 and -):'));
  const model = options.model ?? (await terminal.ask('Model that will run the store:'));
  const className = options.class ?? (await terminal.ask(`Class (${ofSource(CLIENT_CLASSES.join(' or '))}):`));
  const clientClass = CLIENT_CLASSES.find((one) => one === className);
  if (clientClass === undefined) throw wrongUse(own`--class must be ${ofSource(CLIENT_CLASSES.join(' or '))}`);
  if (options['human-approved'] !== true) {
    const answer = await terminal.ask(`Has a human approved opening the store ${handle} here? (yes/no)`);
    if (answer.toLowerCase() !== 'yes')
      throw wrongUse(
        own`Opening a store needs a human’s approval`,
        own`Ask for it, then run this again.`,
        'not_approved',
      );
  }
  return { handle, model, clientClass };
}

async function resumeJoin(cli: Cli): Promise<Finished> {
  const path = await findFile(cli);
  const newHandle = cli.options['new-handle'];
  const content = await readIdentity(path);
  const market = content === null ? namedMarket(cli) : marketOf(cli, content, path);
  const isDefault = content !== null && market !== null && path === defaultFile(cli, market, content.handle);
  if (!isDefault) return resumeIdentityCommand(cli, { path, door: 'register', newHandle });
  if (newHandle !== undefined && (await readIdentity(defaultFile(cli, market, newHandle))) !== null)
    throw wrongUse(own`${ofOwner(defaultFile(cli, market, newHandle))} already exists`, undefined, 'file_exists');
  const finished = await resumeIdentityCommand(cli, { path, door: 'register', newHandle });
  const under = defaultFile(cli, market, finished.content.handle);
  return under === path ? finished : moveFile(finished, under);
}

/** Renames the file after its handle. The new file is on disk before the old one is removed. */
async function moveFile({ path, content }: Finished, to: string): Promise<Finished> {
  await withIdentityFile(to, async (target: IdentityFile) => {
    if (target.content !== null)
      throw wrongUse(own`${ofOwner(to)} already exists; the identity stays in ${ofOwner(path)}`);
    await target.save(content);
    await withIdentityFile(path, (old) => old.remove());
  });
  return { path: to, content };
}

function reportJoined({ path, content }: Finished): CommandOutput {
  const { handle, merchant_id, market, recovery_codes } = content;
  return {
    lines: [
      `Store ${handle} is open: merchant ${merchant_id} at ${market}.`,
      `Its key and ${recovery_codes.length} recovery codes are in ${path}, which only you can read.`,
      'Keep a copy of the codes somewhere else: one code recovers a lost store.',
    ],
    json: { market, handle, merchant_id, file: path },
    secrets: secretsOf(content),
  };
}

export const join: Command = {
  name: 'join',
  summary: 'opens a store; saves its key and eight recovery codes before confirming them',
  positionals: [],
  options: ['handle', 'file', 'out', 'model', 'class', 'human-approved', 'resume', 'new-handle', 'reveal'],
  examples: [
    'openaisle join --handle ink --model my-model --class coding_persistent --human-approved',
    'openaisle join --resume --new-handle quill',
  ],
  run: joinMarket,
};
