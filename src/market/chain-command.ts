import { parseArgs } from 'node:util';
import { createProviders } from '../platform/chain/providers.ts';
import { systemClock } from '../platform/clock.ts';
import { ConfigError } from '../platform/config.ts';
import { withDatabase } from '../platform/database/command-database.ts';
import { isHex } from '../platform/hex.ts';
import { createLog } from '../platform/log.ts';
import { filesAt, readCopies } from '../platform/log-copy/log-copy.ts';
import { logCopyFolder } from '../platform/log-copy/place.ts';
import { loadOwnPepper } from '../platform/pepper.ts';
import { printableJson, printableLine, printableLines } from '../platform/printable.ts';
import { systemRandom } from '../platform/random.ts';
import { CommandRefused, runCommand } from '../platform/run-command.ts';
import { readMarketConfig } from './config.ts';
import type { MarketConfig } from './context.ts';
import {
  type ChainStatus,
  type CommandMarket,
  readChainStatus,
  resetWatermark,
  resumePayments,
} from './payments/chain/commands.ts';
import { MIGRATIONS } from './prepare-database.ts';
import { describeRecovery, type RecoveryOutput, withBlockOfTime } from './recovery/describe-recovery.ts';
import { findBlockAt } from './recovery/read-chain.ts';
import { recover } from './recovery/recover.ts';
import { type Unlocked, unlock } from './recovery/unlock.ts';

const HELP = `Operator commands for the chain. The market may be running; it notices each change without a restart.

  npm run chain -- status [--json]
  npm run chain -- resume --reason TEXT [--json]
  npm run chain -- reset-watermark --to NUMBER --hash HASH --reason TEXT [--json]
  npm run chain -- unlock --handle NAME --out FILE --reason TEXT [--json]
  npm run chain -- recover (--from-block NUMBER | --from-time TIME) --reason TEXT [--log-copy PATH... | --without-log-copy] [--json]

  status            shows whether payments are halted and why, the watermark, and each provider's view of it; changes nothing
  resume            ends a halt. Payments halt when two providers call different blocks final: first find out which one was right, remove
                    the other from OPENAISLE_RPC_URLS and restart the market, or it halts again
  reset-watermark   sets the highest block accepted as final. The providers must have this block under this hash and call it final. Use it
                    if a wrong provider raised the watermark; nothing that was delivered is taken back
  recover           accepts the database as it is after a restore or failover that lost data. It reuses no id that may have been public,
                    repeats withdrawals and removals, and reopens payments. It counts what was lost, and names each sale with its
                    transaction and each comment. The public log shows it. Read docs/recovery.md first
  --from-block      first block whose payments may be missing: at or before the time of the backup
  --from-time       the same as a time, that of the backup or a little earlier: 2026-11-27T08:52:14Z, or with an offset such as +01:00. The
                    command asks the provider for the first block at or after it, and names it in the answer
  --log-copy PATH   a file or folder with a host's copy of the log; give those of every host that has one. Default: this host's own
  --without-log-copy use this if no copy is left: then every merchant has to rotate its key before it may write
  unlock            writes eight new recovery codes to a new file, for a merchant whose key and codes were lost with the log. Give them only
                    to a person you know to be this merchant. The public log shows it
  --reason TEXT     why, 1 to 1000 characters; kept for ever with the values before and after
  --json            print the outcome as one JSON object
  --help            print this text

Uses the environment of the market. If the market has a database role of its own (deploy/app-role.sql), set DATABASE_URL to the owner's
address: the market's role may not do this. Each command is a row of chain_commands and a log line, here on stderr.
`;

const BLOCK_NUMBER = /^(?:0|[1-9]\d{0,14})$/;

interface CommandOptions {
  act: string;
  reason: string | undefined;
  to: string | undefined;
  hash: string | undefined;
  fromBlock: string | undefined;
  fromTime: string | undefined;
  logCopy: readonly string[];
  withoutLogCopy: boolean;
  handle: string | undefined;
  out: string | undefined;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      reason: { type: 'string' },
      to: { type: 'string' },
      hash: { type: 'string' },
      'from-block': { type: 'string' },
      'from-time': { type: 'string' },
      'log-copy': { type: 'string', multiple: true, default: [] },
      'without-log-copy': { type: 'boolean', default: false },
      handle: { type: 'string' },
      out: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const { reason, to, hash, json } = values;
  const command = readCommand({
    ...{ act: positionals.join(' '), reason, to, hash, handle: values.handle, out: values.out },
    fromBlock: values['from-block'],
    fromTime: values['from-time'],
    logCopy: values['log-copy'],
    withoutLogCopy: values['without-log-copy'],
  });
  const outcome = await withMarket(command);
  process.stdout.write(json ? `${printableJson(outcome)}\n` : printableLines(describeOutcome(outcome)));
}

type Command = (market: CommandMarket) => Promise<Outcome>;
type Outcome =
  | ChainStatus
  | Awaited<ReturnType<typeof resumePayments>>
  | Awaited<ReturnType<typeof resetWatermark>>
  | RecoveryOutput
  | Unlocked;

/** Parses the options into a command. Runs before the database is opened. */
function readCommand(options: CommandOptions): Command {
  const { act, reason, to, hash } = options;
  if (act === 'status') return readChainStatus;
  if (act !== 'resume' && act !== 'reset-watermark' && act !== 'recover' && act !== 'unlock') {
    throw new CommandRefused(
      'name one command: status, resume, reset-watermark, recover or unlock. --help explains them',
    );
  }
  const why = reason?.trim() ?? '';
  if (why === '' || why.length > 1_000) throw new CommandRefused('--reason TEXT is needed, 1 to 1000 characters');
  if (act === 'resume') return (market) => resumePayments(market, why);
  if (act === 'recover') return parseRecoverOptions(options, why);
  if (act === 'unlock') return parseUnlockOptions(options, why);
  if (to === undefined || !BLOCK_NUMBER.test(to)) throw new CommandRefused('--to must be a block number');
  const wanted = hash?.toLowerCase();
  if (!isHex(wanted, 32)) throw new CommandRefused('--hash must be a block hash: 0x and 64 hex digits');
  return (market) => resetWatermark(market, { number: BigInt(to), hash: wanted }, why);
}

function parseRecoverOptions(options: CommandOptions, reason: string): Command {
  const from = readFrom(options);
  const { logCopy, withoutLogCopy } = options;
  if (withoutLogCopy && logCopy.length > 0)
    throw new CommandRefused('--log-copy and --without-log-copy contradict each other');
  return async (market) => {
    const paths = logCopy.length > 0 ? logCopy : [logCopyFolder(market.config)];
    const copied = withoutLogCopy ? null : await readCopies(await filesAt(paths));
    if (typeof from === 'bigint') return await recover(market, { fromBlock: from, reason, copied });
    const block = await findBlockAt(market, from);
    return withBlockOfTime(await recover(market, { fromBlock: block.number, reason, copied }), from, block);
  };
}

/** Parses the first block, or the time from which to find it. */
function readFrom({ fromBlock, fromTime }: CommandOptions): bigint | Date {
  if ((fromBlock === undefined) === (fromTime === undefined)) {
    throw new CommandRefused('--from-block NUMBER or --from-time TIME is needed, and only one of them');
  }
  if (fromTime !== undefined) return readTime(fromTime);
  if (fromBlock === undefined || !BLOCK_NUMBER.test(fromBlock)) {
    throw new CommandRefused('--from-block must be a block number');
  }
  return BigInt(fromBlock);
}

/** Also accepts PostgreSQL's format, with a space instead of the T. A zone is required, because each machine would assume its own. */
const TIME = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(?:Z|([+-]\d{2})(?::?(\d{2}))?)$/;

function readTime(text: string): Date {
  const [, day, time, hours = '+00', minutes = '00'] = TIME.exec(text) ?? [];
  const at = new Date(`${day}T${time}${hours}:${minutes}`);
  // Date parses a day beyond the month's end as a day of the next month.
  const isDay = new Date(`${day}T00:00:00Z`).toJSON()?.startsWith(day ?? ' ') === true;
  if (isDay && !Number.isNaN(at.getTime())) return at;
  throw new CommandRefused('--from-time must be a time with its zone, such as 2026-11-27T08:52:14Z');
}

function parseUnlockOptions({ handle, out }: CommandOptions, reason: string): Command {
  if (handle === undefined) throw new CommandRefused('--handle must be the handle of a merchant');
  if (out === undefined) throw new CommandRefused('--out must be a new file for the codes');
  return async (market) =>
    unlock({ ...market, random: systemRandom, pepper: await loadOwnPepper(market.config) }, { handle, out, reason });
}

async function withMarket(command: Command): Promise<Outcome> {
  const config = readMarketConfig(process.env);
  const place = { config, site: 'market', migrations: MIGRATIONS, applicationName: 'openaisle-chain-command' } as const;
  return await withDatabase(place, (database) => {
    const log = createLog({ hide: secretsOf(config), stream: process.stderr });
    const providers = createProviders(config.rpcUrls, systemClock);
    return command({ config, database, clock: systemClock, log, providers });
  });
}

function secretsOf({ databaseUrl, rpcUrls }: MarketConfig): string[] {
  return databaseUrl === null ? [...rpcUrls] : [databaseUrl, ...rpcUrls];
}

function describeOutcome(outcome: Outcome): string {
  if (!('status' in outcome)) return describeStatus(outcome);
  if (outcome.status === 'resumed')
    return `Payments are running again. They were halted since ${outcome.halted_at}: ${outcome.detail}\n`;
  if (outcome.status === 'unlocked') return `${outcome.handle} can get a new key with a code from ${outcome.file}.\n`;
  if (outcome.status === 'recovered') return describeRecovery(outcome);
  const { before, after } = outcome;
  return `The watermark is now ${after.block_number} ${after.block_hash}. It was ${before.block_number} ${before.block_hash}.\n`;
}

function describeStatus({ payments, halt, watermark, providers, commands }: ChainStatus): string {
  const lines = [
    halt === null
      ? `payments: ${payments}`
      : `payments: halted since ${halt.halted_at} (${halt.reason}): ${printableLine(halt.detail)}`,
    watermark === null ? 'watermark: none' : `watermark: ${watermark.block_number} ${watermark.block_hash}`,
    ...providers.map((one) => {
      const name = `provider ${one.provider} (${one.endpoint})`;
      if (!one.answers) return `${name}: does not answer: ${printableLine(one.error)}`;
      const final =
        one.finalized === null ? 'no final block' : `final ${one.finalized.block_number} ${one.finalized.block_hash}`;
      const holds = one.holds_watermark === false ? `; at the watermark it has ${one.at_watermark ?? 'no block'}` : '';
      return `${name}: chain ${one.chain_id}, latest ${one.latest}, ${final}${one.refused === null ? '' : ` (${one.refused})`}${holds}`;
    }),
    ...commands.map(({ id, act, reason, at }) => `command ${id} at ${at}: ${act}: ${printableLine(reason)}`),
  ];
  return `${lines.join('\n')}\n`;
}

await runCommand(main, explainError);

function explainError(error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === '42501') {
    return 'this database role may not do that. Set DATABASE_URL to the address of the owner of the tables';
  }
  if (error instanceof ConfigError || error instanceof Error) return error.message;
  return String(error);
}
