import { describe, expect, it } from 'vitest';
import { seedVersion } from '../world/version-stage.ts';
import { beyondRefusals, type Shopper, walletStage } from './wallet-stage.ts';

// The page asks for a signature only when a payment is due, by a clock that follows the market's.

const { world, goods, shopper } = await walletStage();

const MINUTE_MS = 60_000;
const movedTime = (ms: number): string => `{ const now = Date.now; Date.now = () => now() + ${ms}; }`;
const matches = ({ page }: Pick<Shopper, 'page'>) => page.locator('#matches', { hasText: /^matches$/ }).waitFor();

async function expectNothingSigned(person: Shopper, title: string): Promise<void> {
  await person.page.locator('#stage-title', { hasText: title }).waitFor();
  expect(await person.page.locator('.moved').innerText()).toContain('No money moved');
  expect(await person.visitor.findings()).toEqual([]);
  expect([person.wallet.signed, await person.paid(), beyondRefusals(person.visitor)]).toEqual([[], [], []]);
}

it('a newer version for the wallet that bought the older one, over nothing; for another wallet at its price', async () => {
  const older = await goods();
  const person = await shopper();
  await person.toSettled(older);
  await world.finalize();
  await matches(person);
  const artifact = 'secret goods of a newer version';
  const createdAt = new Date();
  const id = await seedVersion(world.db.database, { supersedes: older.id, artifact, createdAt });
  await world.running.eventsSettled();
  const newer = { ...older, id, artifact };
  const title = person.page.locator('#stage-title');
  await person.toMessage(newer);
  expect(await title.innerText()).toBe('Sign to show whose wallet it is');
  expect(await person.readPage()).toContain('No money moves.');
  await person.page.click('#sign');
  await matches(person);
  expect(await person.readPage()).not.toContain('You have paid');
  expect(person.wallet.signed.map(({ message }) => message['value'])).toEqual([older.price.toString(), '0']);
  expect(await person.paid()).toEqual([older.price]);

  const other = await shopper();
  await other.toMessage(newer);
  await other.page.click('#sign');
  await other.page.locator('#stage-title', { hasText: 'This is what you sign' }).waitFor();
  await other.page.click('#sign');
  await other.page.locator('.money.paid').waitFor();
  await world.finalize();
  await matches(other);
  expect(await other.paid()).toEqual([older.price]);
  for (const one of [person, other]) await one.visitor.close();
});

it('a seller is told that the goods are its own, and signs nothing', async () => {
  const person = await shopper();
  await person.open(await goods({ payTo: person.payer.address }));
  await person.page.click('#wallet-0');
  await expectNothingSigned(person, 'These are your own goods');
  await person.visitor.close();
});

describe('the clock of the browser', () => {
  it.each([-14, -3, 3, 14])('that is %i minutes off buys, with one signature', async (minutes) => {
    const listed = await goods();
    const person = await shopper();
    await person.page.context().addInitScript(movedTime(minutes * MINUTE_MS));
    await person.toMessage(listed);
    expect(await person.readPage()).toMatch(/(?:1 min \d+ s|2 min) from now/);
    await person.page.click('#sign');
    await person.page.locator('.money.paid').waitFor();
    await world.finalize();
    await matches(person);
    expect([await person.paid(), person.wallet.signed.length]).toEqual([[listed.price], 1]);
    await person.visitor.close();
  });

  it('that is 16 minutes off signs nothing, and the page names both times', async () => {
    const person = await shopper();
    await person.page.context().addInitScript(movedTime(16 * MINUTE_MS));
    await person.open(await goods());
    await person.page.click('#wallet-0');
    await expectNothingSigned(person, 'Two clocks do not agree');
    expect(await person.readPage()).toMatch(/T.*Z.*T.*Z/s);
    await person.visitor.close();
  });
});
