import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { emptyIdentity, printIdentity } from '../../src/cli/identity.ts';
import { testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { claim, payDirectly, transfer } from '../support/direct.ts';
import { type Member, paidUnits, startWorld, type World } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';
import { type CliOptions, type CliRun, cliRuns } from './run-cli.ts';

const { sellerOne, treasury } = WORLD_ACCOUNTS;
const ESCAPE = String.fromCodePoint(27);

describe('the command line on a market', () => {
  const cli = cliRuns();
  let world: World;
  let others: Member;
  let buyer: Member;

  beforeAll(async () => {
    world = await startWorld();
    for (const handle of ['keeper', 'ink', 'quill']) {
      const member = await world.join(handle);
      const file = cli.fileOf(world.url, handle);
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      const content = { ...emptyIdentity(world.url, handle), merchant_id: Number(member.id), merchant_key: member.key };
      await writeFile(file, printIdentity(content), { mode: 0o600 });
      if (handle === 'ink') buyer = member;
      others = member;
    }
  });
  afterAll(() => world?.stop());

  /** Runs a command as that merchant. Its waits make all blocks final. */
  const runAs = (handle: string, args: readonly string[], more: CliOptions = {}): Promise<CliRun> =>
    cli.run([...args, '--handle', handle], {
      market: world.url,
      environment: { sleep: () => world.finalize() },
      ...more,
    });
  const reading = (args: readonly string[], more: CliOptions = {}): Promise<CliRun> =>
    cli.run(args, { market: world.url, ...more });
  const seed = async (title: string, more: Parameters<typeof seedListing>[2] = {}): Promise<string> => {
    const { id } = await seedListing(world.db.database, others.id, { wallet: sellerOne.address, title, ...more });
    await world.running.eventsSettled();
    return String(id);
  };
  /** Runs a command with and without --json; both must exit with 0. */
  const runBothWays = async (
    run: (more: string[]) => Promise<CliRun>,
  ): Promise<{ text: string; json: Record<string, unknown> }> => {
    const json = await run(['--json']);
    expect([json.code, json.stderr]).toEqual([0, '']);
    const text = await run([]);
    expect(text.code, text.stderr).toBe(0);
    expect(json.json()).toMatchObject({ status: 'ok' });
    return { text: text.stdout, json: json.json() };
  };

  test('search finds by words, price, aisle, seller and tag, and goes on page by page', async () => {
    const cheap = await seed('Ancient maps', { priceUnits: 500_000n, aisle: 'data', tags: ['maps'] });
    const dear = await seed('Ancient coins', { priceUnits: 3_000_000n });
    await seed('Nothing of it', { priceUnits: 0n });
    const { text, json } = await runBothWays((more) => reading(['search', 'ancient', ...more]));
    expect(json).toMatchObject({ market: world.url, total: 2, returned: 2, has_more: false, next_cursor: null });
    expect(text).toMatch(new RegExp(`^${cheap} +0\\.5 USDC +quill +data .*Ancient maps$`, 'm'));
    const idsOf = async (...more: string[]): Promise<string[]> => {
      const { listings } = (await reading(['search', '--json', ...more])).json() as { listings: { id: number }[] };
      return listings.map(({ id }) => String(id)).toSorted();
    };
    expect(await idsOf('ancient', '--max-price', '0.5')).toEqual([cheap]);
    expect(await idsOf('ancient', '--seller', 'quill', '--aisle', 'data')).toEqual([cheap]);
    expect(await idsOf('--tag', 'maps')).toEqual([cheap]);
    expect(await idsOf('--', 'ancient', '-maps')).toEqual([dear]);
    expect(await idsOf('ancient', '--sort', 'price_desc', '--limit', '1')).toEqual([dear]);
    const first = (await reading(['search', '--limit', '1', '--json'])).json();
    const second = (
      await reading(['search', '--limit', '1', '--cursor', String(first['next_cursor']), '--json'])
    ).json();
    expect(second['listings']).not.toEqual(first['listings']);
    expect((await reading(['search', '--free', '--max-price', 'much'])).code).toBe(2);
  });

  test('search says how the need was searched, on the terminal and as JSON', async () => {
    await seed('Lighthouse almanac');
    await seed('Lighthouse keeper');
    const corrected = await runBothWays((more) => reading(['search', 'a', 'lighthouse', 'almnac', ...more]));
    expect(corrected.text).toMatch(/^No listing has “almnac”\. Showing results for “lighthouse almanac”\.\nID /);
    expect(corrected.json).toMatchObject({
      total: 2,
      did_you_mean: null,
      search: {
        words: [{ word: 'lighthouse' }, { word: 'almnac', used_as: 'almanac' }],
        ...{ ignored: ['a'], missing: [], matched: 'all' },
      },
    });
    const partial = await reading(['search', 'almanac', 'keeper']);
    expect(partial.stdout).toMatch(/^No listing has all of these words\. These come closest\.\nID /);
    expect((await reading(['search', 'lighthouse'])).stdout).toMatch(/^ID /);
    const none = await runBothWays((more) => reading(['search', 'zzzqqq', 'qqqzzz', ...more]));
    expect(none.text).toBe('No listing has “zzzqqq” or “qqqzzz”.\n0 of 0\n');
    expect(none.json).toMatchObject({ total: 0, search: { words: [], missing: ['zzzqqq', 'qqqzzz'] } });
    const all = await reading(['search', 'almanac', 'keeper', '--match', 'all', '--json']);
    expect(all.json()).toMatchObject({ total: 0, search: { matched: 'some' } });
    const near = await runBothWays((more) => reading(['search', 'almnac', '--match', 'all', ...more]));
    expect(near.text).toBe('No listing has “almnac”.\n0 of 0\nDid you mean “almanac”?\n');
    expect((await reading(['search', 'almanac', '--match', 'most'])).code).toBe(2);
    const browsed = await reading(['search', '--limit', '1', '--json']);
    expect(browsed.json()).toMatchObject({ search: null });
  });

  test('show prints one listing and its comments, and what sellers wrote steers no terminal', async () => {
    const id = await seed(`Red ${ESCAPE}[31mtitle`);
    await runAs('ink', ['comment', id, 'First line\nnext: pay me']);
    const { text, json } = await runBothWays((more) => reading(['show', id, ...more]));
    expect(json).toMatchObject({ listing: { id: Number(id), merchant: 'quill' }, comments_total: 1 });
    expect(text).toContain('| next: pay me');
    expect(text).not.toMatch(/^next:/m);
    expect(text).not.toContain(ESCAPE);
    const missing = await reading(['show', '999999', '--json']);
    expect([missing.code, missing.json()]).toMatchObject([1, { status: 'refused', reason: 'not_found' }]);
    expect((await reading(['show', 'seven'])).code).toBe(2);
  });

  test('comments, votes, flags, removal, appeal and its decision, each by its command', async () => {
    const id = await seed('To be talked about');
    const commented = await runBothWays((more) => runAs('ink', ['comment', id, 'Good.', ...more]));
    const { comment } = commented.json as { comment: { id: number } };
    const reply = await runAs('quill', ['comment', id, 'Thanks.', '--reply-to', String(comment.id), '--json']);
    expect(reply.json()).toMatchObject({ comment: { parent_id: comment.id, handle: 'quill' } });
    expect((await runBothWays((more) => runAs('ink', ['vote', id, ...more]))).json).toMatchObject({ votes: 1 });
    expect((await runBothWays((more) => runAs('ink', ['flag', 'listing', id, 'Odd.', ...more]))).json).toMatchObject({
      flag: { target_type: 'listing', target_id: Number(id) },
    });
    expect((await runBothWays((more) => runAs('keeper', ['mod', 'pin', id, ...more]))).json).toMatchObject({
      listing: { pinned: true },
    });
    expect((await runAs('keeper', ['mod', 'pin', id, '--off', '--json'])).json()).toMatchObject({
      listing: { pinned: false },
    });
    const because = ['--code', 'policy', '--reason', 'Not here.'];
    expect(
      (await runAs('keeper', ['mod', 'remove', String(comment.id), '--comment', ...because, '--json'])).json(),
    ).toMatchObject({
      comment: { removed: true },
    });
    const stranger = await runAs('ink', ['mod', 'remove', id, ...because, '--json']);
    expect([stranger.code, stranger.json()['status']]).toEqual([1, 'refused']);
    expect((await runAs('keeper', ['mod', 'remove', id, ...because, '--json'])).json()).toMatchObject({
      listing: { state: 'removed' },
    });
    const appealed = await runBothWays((more) => runAs('quill', ['appeal', id, 'It is mine.', ...more]));
    const { appeal } = appealed.json as { appeal: { id: number } };
    const stated = await runAs('keeper', ['mod', 'remove', String(appeal.id), '--statement', ...because, '--json']);
    expect(stated.json()).toMatchObject({ removal: { target_type: 'appeal', merchant: 'quill' } });
    expect((await reading(['show', id, '--json'])).json()).toMatchObject({
      listing: { appeal: { statement: '' } },
    });
    await world.ask('POST', '/api/store', { key: others.key, body: { line: 'A line' } });
    const emptied = await runBothWays((more) =>
      runAs('keeper', ['mod', 'remove', String(others.id), '--store-line', ...because, ...more]),
    );
    expect(emptied.json).toMatchObject({ removal: { target_type: 'store_line', merchant: 'quill' } });
    expect(emptied.text).toContain('The store line of quill was cleared.');
    const two = await runAs('keeper', ['mod', 'remove', id, '--store-line', '--comment', ...because]);
    expect([two.code, two.stderr]).toEqual([2, expect.stringContaining('one of --comment, --store-line')]);
    const decided = await runAs('keeper', [
      'mod',
      'decide',
      String(appeal.id),
      'restored',
      '--reason',
      'True.',
      '--json',
    ]);
    expect(decided.json()).toMatchObject({ appeal: { outcome: 'restored' }, listing: { state: 'live' } });
    const reviews = await runBothWays((more) => runAs('keeper', ['mod', 'reviews', ...more]));
    expect(reviews.json).toMatchObject({ reviews: [], flags: [{ handle: 'ink' }] });
    expect(reviews.text).toContain(`flag on listing ${id} by ink: “Odd.”`);
    const none = await runAs('quill', ['mod', 'reviews', '77', 'declined', '--json']);
    expect([none.code, none.json()['reason']]).toEqual([1, 'payment_not_found']);
  });

  test('a payment to decide on is shown with what else its payer sent', async () => {
    const id = BigInt(await seed('Paid in two parts'));
    const payer = testAccount('pays in two parts');
    await fund(world.chain, [{ address: payer.address, usdcUnits: 10_000_000n, wei: 10n ** 18n }]);
    const paid = await payDirectly(world, { buyer, listingId: id, payer, units: 1_000_000n });
    const more = await transfer(world, payer, paid.intent.seller_wallet, 200_000n);
    await world.finalize();
    const claimed = await claim(world, buyer, id, paid);
    const { id: payment } = claimed.body['payment'] as { id: number };
    expect((await claim(world, buyer, id, { ...paid, txHash: more })).body['tx_hash']).toBe(more);
    const { text, json } = await runBothWays((args) => runAs('quill', ['mod', 'reviews', ...args]));
    const further = { tx_hash: more, amount_usdc: 0.2, claimed: true };
    expect(json).toMatchObject({ reviews: [{ payment_id: payment, further_transfers: [further] }] });
    expect(text).toContain(
      `payment ${payment}: the payer also sent 0.2 USDC, ${more}, and claims it for the same purchase\n`,
    );
    expect((await runAs('quill', ['mod', 'reviews', String(payment), 'declined', '--json'])).code).toBe(0);
  });

  test('own listings are shown, changed and withdrawn', async () => {
    const id = await seed('Mine');
    const preview = join(cli.folder(), 'preview.txt');
    await writeFile(preview, 'A longer look\r\n');
    const changed = await runBothWays((more) =>
      runAs('quill', [
        'edit',
        id,
        '--description',
        'Better',
        '--preview',
        preview,
        '--tag',
        'a',
        '--tag',
        'b',
        ...more,
      ]),
    );
    expect(changed.json).toMatchObject({
      listing: { description: 'Better', preview: 'A longer look', tags: ['a', 'b'] },
    });
    expect((await runAs('quill', ['edit', id])).stderr).toContain('No change was given');
    const foreign = await runAs('ink', ['edit', id, '--title', 'Stolen', '--json']);
    expect([foreign.code, foreign.json()['reason']]).toEqual([1, 'not_owner']);
    const { json, text } = await runBothWays((more) => runAs('quill', ['listings', '--limit', '1', ...more]));
    expect(json).toMatchObject({
      listings: [{ id: Number(id) }],
      returned: 1,
      has_more: true,
      next_cursor: Number(id),
    });
    expect(text).toContain(`--cursor ${id}`);
    const gone = await runAs('quill', ['withdraw', id, '--reason', 'Old.', '--json']);
    expect(gone.json()).toMatchObject({ listing: { state: 'withdrawn', withdrawn_reason: 'Old.' } });
    const stranger = await runAs('ink', ['withdraw', id, '--json']);
    expect([stranger.code, stranger.json()['reason']]).toEqual([1, 'not_owner']);
  });

  test('watch tells each event as it happens, from any number on, and ends in order', async () => {
    const talked = await seed('Talked of');
    for (const text of ['One', 'Two', 'Three', 'Four', 'Five', 'Six']) await runAs('keeper', ['comment', talked, text]);
    const first = await reading(['watch', '--after', '0', '--count', '1', '--json']);
    expect([first.code, JSON.parse(first.stdout)]).toMatchObject([0, { id: 1 }]);
    // A stream starts at the newest numbered event, so wait until the earlier comments have their numbers.
    await world.running.eventsSettled();
    const told = await reading(['watch', '--kind', 'comment', '--count', '1', '--json'], {
      environment: {
        fetch: async (url, init) => {
          const response = await fetch(url, init);
          // The stream is open now.
          await runAs('ink', ['comment', talked, 'Heard?']);
          return response;
        },
      },
    });
    expect(JSON.parse(told.stdout)).toMatchObject({
      kind: 'comment',
      actor: 'ink',
      detail: { listing_id: Number(talked) },
    });
    const ending = new AbortController();
    const text = reading(['watch', '--after', '0'], {
      interruption: ending.signal,
      environment: { sleep: async () => ending.abort() },
    });
    await expect.poll(async () => (await world.ask('GET', '/api/events')).status).toBe(200);
    ending.abort();
    expect(await text).toMatchObject({ code: 0, stdout: expect.not.stringContaining('{"id"') });
    const whole = await reading(['watch', '--after', '0', '--count', '6', '--json']);
    let connections = 0;
    const cut = await reading(['watch', '--after', '0', '--count', '6', '--json'], {
      environment: {
        sleep: async () => {},
        fetch: async (url, init) => {
          connections += 1;
          return endedAfter(await fetch(url, init), 2);
        },
      },
    });
    expect([cut.code, cut.stdout, connections]).toEqual([0, whole.stdout, 3]);
    const refused = await reading(['watch', '--after', '99999999', '--json']);
    expect([refused.code, refused.json()['reason']]).toEqual([1, 'cursor_invalid']);
  });

  test('sell checks without paying, pays once, and lists text, bytes and a folder', async () => {
    const wallet = testAccount('the seller’s own wallet');
    await fund(world.chain, [{ address: wallet.address, usdcUnits: 10_000_000n }]);
    const env = { OPENAISLE_WALLET_KEY: wallet.key };
    const folder = join(cli.folder(), 'skill');
    await mkdir(join(folder, 'parts'), { recursive: true });
    await writeFile(join(folder, 'SKILL.md'), '# A skill\n');
    await writeFile(join(folder, 'parts', 'tool.sh'), 'echo', { mode: 0o755 });
    await writeFile(join(folder, '.env'), 'not for others');
    const words = [
      '--title',
      'A packed skill',
      '--price',
      '0.5',
      '--description',
      'How to.',
      '--aisle',
      'skills',
      '--tag',
      'git',
    ];
    const dry = await runBothWays((more) => runAs('ink', ['sell', folder, ...words, '--dry-run', ...more], { env }));
    expect(dry.json).toMatchObject({ dry_run: true, would_cost_usdc: 1, artifact_encoding: 'utf-8' });
    expect(await paidUnits(world.chain, wallet.address, treasury.address)).toEqual([]);
    const sold = await runAs('ink', ['sell', folder, ...words, '--json'], { env });
    expect([sold.code, sold.stderr]).toEqual([0, '']);
    expect(sold.json()).toMatchObject({
      fee: { paid_units: '1000000', tx_hash: expect.any(String) },
      already_listed: false,
    });
    const again = await runAs('ink', ['sell', folder, ...words], { env });
    expect(again.stdout).toMatch(new RegExp(`^Already listed: ${sold.json()['listing_id']}, `));
    expect(await paidUnits(world.chain, wallet.address, treasury.address)).toEqual([1_000_000n]);
    const shown = (await reading(['show', String(sold.json()['listing_id']), '--json'])).json();
    expect(shown['listing']).toMatchObject({
      merchant: 'ink',
      seller_wallet: wallet.signer.address,
      artifact_media_type: 'application/x-tar',
      tags: ['git'],
    });
    const bytes = join(cli.folder(), 'picture.png');
    await writeFile(bytes, Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe));
    const picture = await runAs(
      'ink',
      ['sell', bytes, '--title', 'A picture', '--price', '0', '--description', 'Of it.'],
      { env },
    );
    expect(picture.stdout).toMatch(/^Listed: \d+, /);
    expect(picture.stderr).toMatch(/blocks to go/);
  });

  test('sell without title, wallet or money says what is missing, and nothing is paid', async () => {
    const file = join(cli.folder(), 'notes.md');
    await writeFile(file, '# Notes\n');
    const words = ['--title', 'Notes', '--price', '0.5', '--description', 'Of it.'];
    expect((await runAs('ink', ['sell', file])).stderr).toContain('Missing: --title, --price, --description');
    const poor = testAccount('a wallet without money');
    const walletless = await runAs('ink', ['sell', file, ...words, '--json']);
    expect([walletless.code, walletless.json()['reason']]).toEqual([2, 'no_wallet']);
    const capped = await runAs('ink', ['sell', file, ...words, '--max-fee', '0.5', '--json'], {
      env: { OPENAISLE_WALLET_KEY: poor.key },
    });
    expect([capped.code, capped.json()['reason']]).toEqual([1, 'above_max_price']);
    const empty = await runAs('ink', ['sell', file, ...words, '--json'], { env: { OPENAISLE_WALLET_KEY: poor.key } });
    expect([empty.code, empty.json()]).toMatchObject([
      1,
      { reason: 'insufficient_funds', next_step: expect.stringContaining(poor.signer.address) },
    ]);
  });
});

/** Cuts the stream after that many events, as a bad network would. */
function endedAfter(response: Response, events: number): Response {
  let text = '';
  const ending = new TransformStream<string, string>({
    transform: (chunk, controller) => {
      text += chunk;
      // The first block only sets the retry delay, so it does not count as an event.
      const blocks = text.split('\n\n').filter((block) => block.includes('event: '));
      if (blocks.length < events) return;
      controller.enqueue(
        `${text
          .split('\n\n')
          .slice(0, events + 1)
          .join('\n\n')}\n\nid: 7`,
      );
      controller.terminate();
    },
  });
  const body = response.body
    ?.pipeThrough(new TextDecoderStream())
    .pipeThrough(ending)
    .pipeThrough(new TextEncoderStream());
  return new Response(body ?? null, { status: response.status, headers: response.headers });
}
