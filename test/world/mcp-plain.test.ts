import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { startWorld, type World } from '../support/market-world.ts';
import { askMcp, type Era } from '../support/mcp-ask.ts';
import { seedListing, seedMerchant } from '../support/seed.ts';

let world: World;
beforeAll(async () => {
  // At the address that it calls its own: the short way is for those who ask there.
  world = await startWorld({ port: await freePort() });
  const seller = await seedMerchant(world.db.database, { handle: 'seller' });
  for (const title of ['One "quoted" \\ thing', 'Zwei <b>Dinge</b> \u2028', 'Three']) {
    await seedListing(world.db.database, seller.id, { title });
  }
  await world.running.eventsSettled();
});
afterAll(() => world.stop());

const quickCalls = (): number => world.running.http.readCounts().find(({ route }) => route === '/mcp')?.answered ?? 0;

const CALLS: readonly [name: string, given: Record<string, unknown>, inMemory: boolean][] = [
  ['browse', {}, true],
  ['browse', { q: 'thing', limit: 1 }, true],
  ['browse', { fields: 'outline', free: false, max_price_usdc: 0.5 }, true],
  ['visit_store', { handle: 'seller' }, false],
  ['visit_store', { handle: 'seller', limit: 1 }, true],
  ['read_listing', { id: 1 }, true],
  ['merchants', {}, true],
  ['window', {}, true],
  ['official_facts', {}, false],
  ['help', {}, false],
];

/** Something that only the library looks at, and that changes nothing. */
const DETOUR = { accept: 'text/event-stream, application/json' };

describe.each(['modern', 'legacy'] as const)('in the %s revision', (era: Era) => {
  it.each(CALLS)('%s %j is answered the same with and without the library', async (name, given, inMemory) => {
    const params = { name, arguments: given };
    const before = quickCalls();
    const plain = await askMcp(world, 'tools/call', params, { era, id: 'same' });
    expect(quickCalls() - before).toBe(inMemory ? 1 : 0);
    const whole = await askMcp(world, 'tools/call', params, { era, id: 'same', headers: DETOUR });
    expect(plain.status).toBe(200);
    expect(plain.message.result?.['structuredContent']).toBeDefined();
    expect(plain.message).toEqual(whole.message);
    expect(plain.headers.get('content-type')).toBe(whole.headers.get('content-type'));
    if (!inMemory) return;
    // Packed from the second time on, for who takes that.
    const again = await askMcp(world, 'tools/call', params, { era, id: 'same' });
    expect(again.headers.get('content-encoding')).toBe('gzip');
    expect(again.message).toEqual(whole.message);
    const refusing = { 'accept-encoding': 'identity' };
    const unpacked = await askMcp(world, 'tools/call', params, { era, id: 'same', headers: refusing });
    expect(unpacked.headers.get('content-encoding')).toBeNull();
    expect(unpacked.message).toEqual(whole.message);
  });

  it('what is refused comes from the library, and is refused once', async () => {
    for (const given of [{ limit: 0 }, { cursor: 'nonsense' }, { colour: 'red' }]) {
      const { message } = await askMcp(world, 'tools/call', { name: 'browse', arguments: given }, { era });
      expect(message.result).toMatchObject({ isError: true });
    }
    const { message } = await askMcp(world, 'tools/call', { name: 'read_listing', arguments: { id: 99 } }, { era });
    expect(message.result).toMatchObject({ isError: true, structuredContent: { reason: 'not_found' } });
  });
});
