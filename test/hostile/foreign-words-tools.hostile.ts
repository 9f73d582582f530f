import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { Environment } from '../../src/sdk/environment.ts';
import { rotated } from '../suite/rotation.ts';
import {
  type Host,
  type Owner,
  ownerHomes,
  quickWaits,
  startHostHere,
  type ToolAnswer,
} from '../support/local-tools.ts';
import {
  everyReason,
  type LyingSite,
  type Place,
  placesOf,
  refusing,
  startLyingSite,
  type TapedAnswer,
} from '../support/lying-site.ts';
import { startWorld, type World } from '../support/market-world.ts';
import { expectFenced, expectInMarks, PLANTS } from '../support/planted-words.ts';
import { seedListing } from '../support/seed.ts';

// Shows the same lies to a model: text of a market stays inside the fence, our own refusals outside.

const { buyerOne, sellerOne } = WORLD_ACCOUNTS;
const makeOwner = ownerHomes();
let site: LyingSite;
let world: World;
let folder = '';
let owner: Owner;

interface Call {
  name: string;
  given: Record<string, unknown>;
}
const recordings: { call: Call; home: string; tape: TapedAnswer[] }[] = [];

beforeAll(async () => {
  site = await startLyingSite();
  world = await startWorld({ baseUrl: site.url });
  folder = await mkdtemp(join(tmpdir(), 'openaisle-words-'));
  await world.join('the-keeper');
  const seller = await world.join('mira');
  const merchant = await world.join('ink');
  const list = async (priceUnits: bigint, title: string): Promise<number> => {
    const goods = { wallet: sellerOne.address, priceUnits, title, artifact: title, license: 'MIT' };
    return Number((await seedListing(world.db.database, seller.id, goods)).id);
  };
  const [free, priced] = [await list(0n, 'Free notes'), await list(1_000_000n, 'Priced notes')];
  await world.ask('POST', '/api/comment', { key: merchant.key, body: { listing_id: free, body: 'Good.' } });
  await world.running.eventsSettled();
  // The policy requires asking a person, so that the question is checked too.
  owner = await makeOwner({ market: site.url, wallet: buyerOne, merchant, policy: { ask_above_usdc: 0.5 } });
  const goods = { title: 'Sold here', description: 'Of it.', price_usdc: 1, text: 'What is sold.' };
  const calls: Call[] = [
    { name: 'search', given: { q: 'notes' } },
    { name: 'search', given: { q: 'nottes' } },
    { name: 'show', given: { listing_id: free } },
    { name: 'buy', given: { listing_id: free, max_price_usdc: 1 } },
    { name: 'buy', given: { listing_id: priced, max_price_usdc: 1 } },
    { name: 'purchases', given: { listing_id: priced } },
    { name: 'sell', given: { ...goods, dry_run: true } },
    { name: 'sell', given: goods },
    { name: 'status', given: {} },
  ];
  for (const call of calls) {
    const home = join(folder, `home-${recordings.length}`);
    await cp(owner.home, home, { recursive: true });
    const tape = site.record({ '/': world.url, '/rpc': world.chain.url });
    const answer = await answerTo(call, owner.env, quickWaits(world));
    expect([call, answer.isError, answer.text]).toEqual([call, false, answer.text]);
    if (tape.length > 0) recordings.push({ call, home, tape: tape.slice() });
  }
}, 120_000);
afterAll(async () => {
  await site?.close();
  await world?.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Heard extends ToolAnswer {
  /** Questions to the person. */
  questions: string[];
  progress: string[];
}

async function answerTo(
  { name, given }: Call,
  env: Record<string, string>,
  environment: Partial<Environment>,
): Promise<Heard> {
  const [questions, progress]: [string[], string[]] = [[], []];
  const host: Host = await startHostHere({
    ...{ owner: { ...owner, env }, era: 'modern', environment, options: { rpc: `${site.url}/rpc` } },
    person: (question) => {
      questions.push(question);
      return { action: 'accept', content: { pay: true } };
    },
  });
  const answer = await host.call(name, given, (message) => progress.push(message));
  await host.close();
  return { ...answer, questions, progress };
}

const TICK_MS = 3_000;
/** Ends waits at once and never sends progress ticks. */
const AT_ONCE: Partial<Environment> = {
  sleep: (ms, signal) =>
    ms !== TICK_MS
      ? Promise.resolve()
      : new Promise((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
        }),
};

async function expectHonest(call: Call, home: string, told: string): Promise<ToolAnswer> {
  const own = await mkdtemp(join(folder, 'run-'));
  await cp(home, own, { recursive: true });
  const env = { ...owner.env, HOME: own, XDG_CONFIG_HOME: join(own, '.config') };
  const { questions, progress, ...answer } = await answerTo(call, env, AT_ONCE);
  expectFenced(answer, told);
  for (const question of questions) expectInMarks(question, told);
  expect(progress.join('\n'), `${told}: progress says another's words`).not.toMatch(/zplant/);
  await rm(own, { recursive: true, force: true });
  return answer;
}

it('each text of each answer that a local tool reads stands inside of the fence, or nowhere', async () => {
  const all = recordings.flatMap((recording) => placesOf(recording.tape).map((place) => ({ recording, place })));
  const played = rotated(import.meta.filename, all);
  for (const { recording, place } of played)
    for (const words of Object.values(PLANTS)) {
      site.replay(recording.tape, { place, words });
      const told = `${recording.call.name} with ${JSON.stringify(words)} at ${nameOf(place, recording.tape)}`;
      await expectHonest(recording.call, recording.home, told);
    }
}, 300_000);

it('each refusal of a market is told outside of the fence in our words, and inside of it in its own', async () => {
  const acting = recordings.filter(({ call }) => call.name === 'buy' || call.name === 'sell');
  const cases = everyReason().flatMap((refused, nth) =>
    [acting[0], acting[nth % acting.length]]
      .filter((recording) => recording !== undefined)
      .map((recording) => ({ recording, refused })),
  );
  for (const { recording, refused } of rotated(import.meta.filename, cases)) {
    site.replay(refusing(recording.tape, refused, PLANTS.steering), null);
    await expectHonest(recording.call, recording.home, `${recording.call.name} refused as ${refused.reason}`);
  }
}, 300_000);

it('what our own policy refuses is said outside of the fence, whole, and nothing of it is fenced', async () => {
  const priced = recordings.findLast(({ call }) => call.name === 'buy');
  if (priced === undefined) throw new Error('no purchase was recorded');
  site.replay(priced.tape, null);
  const own = await mkdtemp(join(folder, 'run-'));
  await cp(priced.home, own, { recursive: true });
  const env = { ...owner.env, HOME: own, XDG_CONFIG_HOME: join(own, '.config') };
  // This host cannot ask a person.
  const host = await startHostHere({ owner: { ...owner, env }, era: 'modern', environment: AT_ONCE });
  const refused = await host.call('buy', priced.call.given);
  await host.close();
  expect(refused.text).toMatch(
    /^Refused \(needs_person\): The policy requires a person’s consent above 0\.5 USDC, and nobody can be asked here\.\nNext: Use a terminal or a host that can ask\. The wallet’s owner can change /,
  );
  expect([refused.text.includes('untrusted'), refused.mark, refused.untrusted]).toEqual([false, undefined, false]);
});

function nameOf({ answer, header, at, kind }: Place, tape: readonly TapedAnswer[]): string {
  const { method, path, status } = tape[answer] ?? {};
  return `${method} ${path} ${status} ${header ?? ''} ${kind} ${at.join('.')}`;
}
