import { describe, expect, it } from 'vitest';
import { systemRandom } from '../../src/platform/random.ts';
import { makeDeliveryToken } from '../../src/platform/secrets.ts';
import { countRows } from '../support/database.ts';
import { type AskOptions, signProof } from '../support/market-world.ts';
import { callTool } from '../support/mcp-ask.ts';
import { testTrade } from '../support/trade.ts';

const { world, buyer, goods, wallet } = testTrade();
const fresh = (): string => makeDeliveryToken(systemRandom, 'aisle');
const bringing = (token: string): Pick<AskOptions, 'headers'> => ({ headers: { 'x-delivery-token': token } });

/** Runs `act` and checks that it inserts no row. */
async function withoutRow<T>(act: () => Promise<T>): Promise<T> {
  const before = await countRows(world.db.database);
  const result = await act();
  expect(await countRows(world.db.database)).toEqual(before);
  return result;
}

async function bought() {
  const listing = await goods();
  const payer = await wallet();
  const token = fresh();
  const proof = await signProof(world.chain, payer, listing.terms);
  const opened = await world.buy(listing.id, { proof: proof.v2, ...bringing(token) });
  return { listing, payer, token, proof, opened };
}

describe('a delivery token of the client', () => {
  it('is the only one of its payment, is never sent back, and collects', async () => {
    const { listing, token, opened, proof } = await bought();
    expect([opened.status, opened.body['collected_by']]).toEqual([202, 'token']);
    expect([JSON.stringify(opened.body).includes('_dt_'), 'delivery_token' in opened.body]).toEqual([false, false]);
    expect(opened.headers.get('x-delivery-token')).toBeNull();
    await world.finalize();
    const other = await world.buy(listing.id, { proof: proof.v2, ...bringing(fresh()) });
    expect([other.status, other.body['reason'], other.body['collected_by']]).toEqual([
      409,
      'sign_to_collect',
      'signature',
    ]);
    const collected = await world.buy(listing.id, { body: { collect: true }, ...bringing(token) });
    expect(collected).toMatchObject({ status: 200, body: { artifact: listing.artifact, collected_by: 'token' } });
    expect(JSON.stringify(collected.body)).not.toContain(token);
  });

  it('a payment opened without one is given one, which goes on collecting, and takes no other', async () => {
    const listing = await goods();
    const proof = await signProof(world.chain, await wallet(), listing.terms);
    const { body } = await world.buy(listing.id, { proof: proof.v2 });
    const given = String(body['delivery_token']);
    expect(body).toMatchObject({ collected_by: 'token' });
    const late = fresh();
    expect((await world.buy(listing.id, { proof: proof.v2, ...bringing(late) })).body['collected_by']).toBe(
      'signature',
    );
    await world.finalize();
    expect((await world.buy(listing.id, bringing(late))).body['reason']).toBe('payment_not_found');
    expect((await world.buy(listing.id, bringing(given))).body['artifact']).toBe(listing.artifact);
  });

  it('known for another payment it opens nothing, whichever goods and wallet', async () => {
    const { listing, token } = await bought();
    const other = await goods();
    const payer = await wallet();
    for (const { id, terms } of [other, listing]) {
      const proof = await signProof(world.chain, payer, terms);
      const refused = await withoutRow(() => world.buy(id, { proof: proof.v2, ...bringing(token) }));
      expect([refused.status, refused.body['reason'], refused.body['do_not_pay_again']]).toEqual([
        409,
        'delivery_token_used',
        false,
      ]);
      expect((await world.buy(id, { proof: proof.v2, ...bringing(fresh()) })).status).toBe(202);
    }
  });

  it('of two openings at once that bring the same one, one opens', async () => {
    const token = fresh();
    const answers = await Promise.all(
      [await goods(), await goods()].map(async ({ id, terms }) => {
        const proof = await signProof(world.chain, await wallet(), terms);
        return (await world.buy(id, { proof: proof.v2, ...bringing(token) })).status;
      }),
    );
    expect(answers.sort()).toEqual([202, 409]);
  });

  it('has no place with a key, at collect or where nothing is paid; alone and unknown it is 404', async () => {
    const { id, terms } = await goods();
    const free = await goods({ units: 0n });
    const { v2: proof } = await signProof(world.chain, await wallet(), terms);
    const wrong: [bigint, AskOptions][] = [
      [id, { key: buyer.key, proof }],
      [id, { key: buyer.key }],
      [id, { body: { collect: true }, proof }],
      [free.id, {}],
      [free.id, { proof }],
      [free.id, { key: buyer.key }],
    ];
    await withoutRow(async () => {
      for (const [listing, asked] of wrong) {
        const { status, body } = await world.buy(listing, { ...asked, ...bringing(fresh()) });
        expect([status, body['reason'], JSON.stringify(body['errors']).includes('X-Delivery-Token')]).toEqual([
          400,
          'invalid_fields',
          true,
        ]);
      }
      for (const asked of [{}, { body: { collect: true } }]) {
        const { status, body } = await world.buy(id, { ...asked, ...bringing(fresh()) });
        expect([status, body['reason']]).toEqual([404, 'payment_not_found']);
      }
      const misspelt = await world.buy(id, { proof, ...bringing(fresh().slice(0, -1)) });
      expect([misspelt.status, misspelt.body['reason']]).toEqual([400, 'invalid_fields']);
    });
  });

  it('is refused as a secret everywhere else', async () => {
    const { id } = await goods();
    const token = fresh();
    const elsewhere: Promise<{ status: number; body: Record<string, unknown> }>[] = [
      world.ask('GET', `/api/payment?tx_hash=${token}`),
      world.ask('GET', '/api/shelves', { headers: { 'x-other': token } }),
      world.buy(id, { body: { collect: true, collect_salt: token } }),
      world.ask('POST', '/api/comment', { key: buyer.key, body: { listing_id: Number(id), body: `mine: ${token}` } }),
    ];
    for (const { status, body } of await Promise.all(elsewhere)) {
      expect([status, body['reason'], JSON.stringify(body).includes(token)]).toEqual([400, 'secret_in_payload', false]);
    }
  });

  it('with a key the key collects', async () => {
    const { id, terms, artifact } = await goods();
    const proof = await signProof(world.chain, await wallet(), terms);
    const opened = await world.buy(id, { key: buyer.key, proof: proof.v2 });
    expect(opened).toMatchObject({ status: 202, body: { collected_by: 'key' } });
    await world.finalize();
    expect((await world.buy(id, { key: buyer.key })).body).toMatchObject({ artifact, collected_by: 'key' });
  });

  it('is sent outside of the arguments of a tool, and is refused among them', async () => {
    const { id, terms, artifact } = await goods();
    const proof = await signProof(world.chain, await wallet(), terms);
    const token = fresh();
    const payment = JSON.parse(Buffer.from(proof.v2.value, 'base64').toString('utf8')) as unknown;
    const meta = { 'x402/payment': payment, 'openaisle/delivery-token': token };
    const opened = await callTool(world, 'buy', { id: Number(id) }, { meta });
    expect([opened.isError, opened.body['collected_by'], JSON.stringify(opened).includes(token)]).toEqual([
      false,
      'token',
      false,
    ]);
    await world.finalize();
    const own = { meta: { 'openaisle/delivery-token': token } };
    expect((await callTool(world, 'buy', { id: Number(id), collect: true }, own)).body['artifact']).toBe(artifact);
    const misplaced = await callTool(world, 'buy', { id: Number(id), collect_salt: token });
    expect(misplaced.body['reason']).toBe('secret_in_payload');
  });
});
