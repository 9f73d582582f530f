import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../src/cli/run.ts';
import { openTerminal, type Streams } from '../../src/cli/terminal.ts';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { Environment } from '../../src/sdk/environment.ts';
import { rotated } from '../suite/rotation.ts';
import { type Owner, ownerHomes, quickWaits } from '../support/local-tools.ts';
import {
  everyReason,
  type LyingSite,
  type Place,
  placesOf,
  refusing,
  startLyingSite,
  type TapedAnswer,
} from '../support/lying-site.ts';
import { type Member, startWorld, type World } from '../support/market-world.ts';
import { COLUMNS, expectOwnJson, expectOwnVoice, PLANTS } from '../support/planted-words.ts';
import { removeListing, seedListing } from '../support/seed.ts';

// A lying market may send any text in place of any other. The test records a real market, replaces one text at a time in every answer that
// a command reads, and checks the terminal output.

const { buyerOne, sellerOne } = WORLD_ACCOUNTS;
const makeOwner = ownerHomes();
let site: LyingSite;
let world: World;
let folder = '';
let keeper: Member;
let seller: Member;
let buyer: Member;
const ids = { free: 0, priced: 0, own: 0, removed: 0 };

/** A recorded command: its arguments and environment, the home folder before it ran, and the answers it got. */
interface Recording {
  args: readonly string[];
  env: Record<string, string>;
  home: string;
  tape: TapedAnswer[];
}
const recordings: Recording[] = [];

beforeAll(async () => {
  site = await startLyingSite();
  world = await startWorld({ baseUrl: site.url });
  folder = await mkdtemp(join(tmpdir(), 'openaisle-words-'));
  keeper = await world.join('the-keeper');
  seller = await world.join('mira');
  buyer = await world.join('ink');
  const goods = { wallet: sellerOne.address, description: 'Two\nlines.', preview: 'One.', license: 'MIT' };
  const list = async (by: Member, priceUnits: bigint, title: string): Promise<number> => {
    const { id } = await seedListing(world.db.database, by.id, { ...goods, priceUnits, title, artifact: title });
    return Number(id);
  };
  ids.free = await list(seller, 0n, 'Free notes');
  ids.priced = await list(seller, 1_000_000n, 'Priced notes');
  ids.own = await list(buyer, 0n, 'Own notes');
  ids.removed = await list(buyer, 0n, 'Removed notes');
  await removeListing(world.db.database, BigInt(ids.removed));
  await writeFile(join(folder, 'goods.txt'), 'What is sold.');
  await world.ask('POST', '/api/comment', { key: buyer.key, body: { listing_id: ids.free, body: 'Good.' } });
  await world.running.eventsSettled();
  await recordAll();
}, 120_000);
afterAll(async () => {
  await site?.close();
  await world?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Placeholder for a folder in the home of each run. */
const IN_HOME = '<home>/store';

async function recordAll(): Promise<void> {
  const at = { market: site.url, wallet: buyerOne };
  const plain = await makeOwner(at);
  const merchant = await makeOwner({ ...at, merchant: buyer });
  const maintainer = await makeOwner({ ...at, merchant: keeper });
  const fresh = await makeOwner(at);
  const rpc = ['--rpc', `${site.url}/rpc`];
  const free = String(ids.free);
  const sold = ['sell', join(folder, 'goods.txt'), '--title', 'Sold here', '--price', '1', '--description', 'Of it.'];
  const steps: [Owner, string[]][] = [
    [plain, ['search', 'notes']],
    [plain, ['search', 'nottes']],
    [plain, ['search', '--limit', '1']],
    [plain, ['show', free]],
    [plain, ['watch', '--after', '0', '--count', '1']],
    [plain, ['buy', free, '--max', '1']],
    [plain, ['buy', String(ids.priced), '--max', '1']],
    [plain, ['verify', String(ids.priced), ...rpc]],
    [plain, ['wait']],
    [plain, ['purchases']],
    [plain, ['wallet', 'balance', ...rpc]],
    [merchant, [...sold, '--dry-run']],
    [merchant, sold],
    [merchant, ['whoami']],
    [merchant, ['listings']],
    [merchant, ['edit', String(ids.own), '--description', 'Another one.']],
    [merchant, ['comment', free, 'Well made.']],
    [merchant, ['vote', free]],
    [merchant, ['flag', 'listing', free, 'Not mine.']],
    [merchant, ['appeal', String(ids.removed), 'It is mine.']],
    [merchant, ['export', IN_HOME]],
    [merchant, ['pair']],
    [merchant, ['withdraw', String(ids.own)]],
    [maintainer, ['mod', 'reviews']],
    [maintainer, ['mod', 'pin', free]],
    [maintainer, ['mod', 'decide', '1', 'restored', '--reason', 'It is.']],
    [maintainer, ['mod', 'remove', free, '--code', 'spam', '--reason', 'Spam.']],
    [maintainer, ['import', join(merchant.home, 'store'), '--dry-run']],
    [fresh, ['join', '--handle', 'fresh-one', '--model', 'm', '--class', 'coding_ephemeral', '--human-approved']],
    [fresh, ['codes']],
    [fresh, ['rotate']],
    [fresh, ['recover']],
  ];
  for (const [owner, args] of steps) {
    const home = join(folder, `home-${recordings.length}`);
    await cp(owner.home, home, { recursive: true });
    const tape = site.record({ '/': world.url, '/rpc': world.chain.url });
    const { code, output } = await command(args, owner.env, quickWaits(world));
    expect([args, code, output]).toEqual([args, 0, output]);
    if (tape.length > 0) recordings.push({ args, env: owner.env, home, tape: tape.slice() });
  }
}

/** Runs the command in this process on a narrow terminal. Returns the output for a person or, with --json, for a program. */
async function command(args: readonly string[], env: Record<string, string>, environment: Partial<Environment>) {
  const parts = { stdout: '', stderr: '' };
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const streams = { stdin: Readable.from(['']), stdout: nowhere, stderr: nowhere } as unknown as Streams;
  const argv = args.map((one) => one.replace('<home>', env['HOME'] ?? ''));
  const code = await run({
    ...{ argv, env, version: 'test', environment },
    terminal: { ...openTerminal(streams), columns: () => ({ out: COLUMNS, errors: COLUMNS }) },
    out: (text) => {
      parts.stdout += text;
    },
    err: (text) => {
      parts.stderr += text;
    },
    interruption: () => AbortSignal.timeout(5_000),
  });
  return { code, ...parts, output: `${parts.stdout}${parts.stderr}` };
}

/** Ends waits at once, because the awaited answers are recorded. */
const AT_ONCE = { sleep: async (_ms: number, signal?: AbortSignal) => signal?.throwIfAborted() };

async function checkLie(recording: Recording, place: Place, words: string): Promise<void> {
  const { args, env, home, tape } = recording;
  const own = await mkdtemp(join(folder, 'run-'));
  await cp(home, own, { recursive: true });
  const around = { ...env, HOME: own, XDG_CONFIG_HOME: join(own, '.config') };
  site.replay(tape, { place, words });
  const told = `openaisle ${args.join(' ')} with ${JSON.stringify(words)} at ${nameOf(place, tape)}`;
  // A plain sentence needs no escapes, so JSON is checked only with the other texts.
  await expectHonest(args, around, told, words === PLANTS.steering);
  await rm(own, { recursive: true, force: true });
}

/** Checks the output for a person and for a program. */
async function expectHonest(
  args: readonly string[],
  env: Record<string, string>,
  told: string,
  asJson: boolean,
): Promise<void> {
  expectOwnVoice((await command(args, env, AT_ONCE)).output, told);
  if (!asJson) return;
  const { stdout, stderr } = await command([...args, '--json'], env, AT_ONCE);
  expectOwnJson(stdout, told);
  expectOwnVoice(stderr, told);
}

function nameOf({ answer, header, at, kind }: Place, tape: readonly TapedAnswer[]): string {
  const { method, path, status } = tape[answer] ?? {};
  return `${method} ${path} ${status} ${header ?? ''} ${kind} ${at.join('.')}`;
}

describe('whatever a market says, on the terminal it says it in its own voice', () => {
  it('each text of each answer that a command reads', async () => {
    const all = recordings.flatMap((recording) => placesOf(recording.tape).map((place) => ({ recording, place })));
    const played = rotated(import.meta.filename, all);
    for (const { recording, place } of played)
      for (const words of Object.values(PLANTS)) await checkLie(recording, place, words);
  }, 300_000);

  it('each reason for which what is asked can be refused', async () => {
    const acts = ['buy', 'sell', 'comment', 'join', 'rotate', 'recover', 'codes', 'pair'];
    const acting = recordings.filter(({ args: [name = ''] }) => acts.includes(name));
    // Only few reasons belong to one command, so each reason is tried on two commands.
    const cases = everyReason().flatMap((refused, nth) =>
      [acting[nth % acting.length], acting.find(({ args: [name] }) => name === 'buy')]
        .filter((recording) => recording !== undefined)
        .map((recording) => ({ recording, refused })),
    );
    for (const { recording, refused } of rotated(import.meta.filename, cases)) {
      const { args, env, home, tape } = recording;
      const own = await mkdtemp(join(folder, 'run-'));
      await cp(home, own, { recursive: true });
      site.replay(refusing(tape, refused, PLANTS.steering), null);
      const around = { ...env, HOME: own, XDG_CONFIG_HOME: join(own, '.config') };
      await expectHonest(args, around, `openaisle ${args.join(' ')} refused as ${refused.reason}`, true);
      await rm(own, { recursive: true, force: true });
    }
  }, 300_000);
});
