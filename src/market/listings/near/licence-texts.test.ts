import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';
import { readLicences } from '../../../../test/licences/make-licence-texts.ts';
import { reasonOf } from '../../../../test/support/ask.ts';
import { testDatabase } from '../../../../test/support/database.ts';
import { listingDesk, nearText, ownText } from '../../../../test/support/listing-desk.ts';
import { type SeededMerchant, seedMerchant } from '../../../../test/support/seed.ts';
import { newGoods } from '../../../../test/support/trade.ts';
import { fingerprintOf, sketchOf } from './fingerprint.ts';
import { renewFingerprints } from './near-guard.ts';
import { shinglesOf } from './shingles.ts';

const db = testDatabase();
const desk = listingDesk(db, { startMs: Date.UTC(2026, 0, 20, 12) });
let keeper: SeededMerchant;
let rival: SeededMerchant;

beforeAll(async () => {
  keeper = await seedMerchant(db.database, { handle: 'the-keeper' });
  rival = await seedMerchant(db.database, { handle: 'the-rival' });
});

const licence = (name: string): string => readLicences()[name]?.licenseText ?? expect.fail(name);
/** Comments a text out, as at the top of a source file. */
const commented = (text: string): string => `/*\n${text.replaceAll(/^/gm, ' * ')}\n */`;
const signed = (name: string, by: string): string =>
  licence(name)
    .replace('<year>', '2026')
    .replace(/<(?:copyright holders|owner)>/, by);

const tryIt = (artifact: string) => reasonOf(desk.ask(rival, newGoods({ artifact }), 'true'));

describe('a licence that many have', () => {
  it.each(['Apache-2.0', 'GPL-3.0-only', 'MIT', 'CC-BY-SA-4.0'])(
    '%s alone as goods keeps no rival from its own work with that licence in front',
    async (name) => {
      await desk.list(keeper, { artifact: licence(name) });
      // A text with this many characters after one of the licences used to be refused.
      const own = ownText().slice(0, 964);
      expect(await tryIt(`${licence(name)}\n\n${own}`)).toBe('none');
      expect(await tryIt(`${commented(signed(name, 'The Rival'))}\n\n${own}`)).toBe('none');
      expect(await tryIt(`${own}\n\n${licence(name)}`)).toBe('none');
    },
  );

  it('in front of two works makes them no copies of each other', async () => {
    const [one, other] = [ownText(), ownText()].map((text) => `${signed('Apache-2.0', 'One')}\n${text}`);
    await desk.list(keeper, { artifact: one });
    expect(await tryIt(other ?? '')).toBe('none');
  });

  it('hides no copy: in front of it, behind it, in the place of another one, or taken away', async () => {
    const own = ownText();
    await desk.list(keeper, { artifact: own });
    for (const copy of [
      `${licence('GPL-3.0-only')}\n${nearText(own)}`,
      `${nearText(own)}\n${commented(licence('Apache-2.0'))}`,
      `${licence('MPL-2.0')}\n${licence('LGPL-2.1-only')}\n${own}`,
    ])
      expect(await tryIt(copy)).toBe('duplicate_listing');
    const licensed = ownText();
    await desk.list(keeper, { artifact: `${licence('Apache-2.0')}\n${licensed}` });
    expect(await tryIt(licensed)).toBe('duplicate_listing');
    expect(await tryIt(`${commented(licence('GPL-2.0-only'))}\n${nearText(licensed)}`)).toBe('duplicate_listing');
  });

  it('makes no long text of a few words: such words could be guessed', () => {
    const few = 'a few words that are hidden';
    expect(fingerprintOf(Buffer.from(`${licence('MIT')}\n${few}`))).toBeNull();
    expect(fingerprintOf(Buffer.from(licence('GPL-3.0-only')))).toBeNull();
  });
});

describe('shapes of the rule before', () => {
  it('are made again, and the goods are found as if they were listed today', async () => {
    const own = ownText();
    const artifact = `${licence('Apache-2.0')}\n${own}`;
    const { id } = await desk.list(keeper, { artifact });
    const bare = await desk.list(keeper, { artifact: ownText() });
    const alone = await desk.list(keeper, { artifact: licence('EPL-2.0') });
    // Fingerprint under the previous rule, in which all words count.
    const bits = Array.from(sketchOf(shinglesOf(artifact)), (value) => value & 1).join('');
    await db.database.run(sql`
      update artifact_shapes set bands = ${[1]}::int4[], signature = ${bits}::bit(512), rule = 1 where listing_id = ${id}`);
    await db.database.run(sql`update artifact_shapes set rule = 1 where listing_id = ${bare.id}`);
    await db.database.run(sql`
      insert into artifact_shapes (listing_id, bands, signature) select ${alone.id}, bands, signature from artifact_shapes
      where listing_id = ${id}`);
    expect(await tryIt(own)).toBe('none');
    expect(await renewFingerprints(db.database)).toBe(3);
    expect(await tryIt(own)).toBe('duplicate_listing');
    expect(await renewFingerprints(db.database)).toBe(0);
    expect(
      await db.database.rows(sql`select listing_id as id, rule from artifact_shapes
        where listing_id = any (${[id, bare.id, alone.id]}::int8[]) order by 1`),
    ).toEqual([
      { id: BigInt(id), rule: 2 },
      { id: BigInt(bare.id), rule: 2 },
    ]);
  });
});
