import sql from 'sql-template-tag';
import { expect } from 'vitest';
import { type TestAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { checkSale, type Flow, type KillFlow, retryUntilDone } from './kill-flows.ts';
import type { KillGoods, KillWorld } from './kill-world.ts';
import {
  type Answer,
  type AskOptions,
  type Member,
  type ProofTerms,
  paidUnits,
  type SignedProof,
  signProof,
} from './market-world.ts';
import { seedUpload } from './seed-upload.ts';
import { FEE_TERMS, newGoods } from './trade.ts';
import { bytesOf, uploadedBody, uploadRow } from './uploaded-goods.ts';

const { treasury } = WORLD_ACCOUNTS;
const inVersion = (proof: SignedProof, run: number) => (run % 2 === 0 ? proof.v2 : proof.v1);
/** Close to the longest validity that the market accepts, so that repeated restarts do not exhaust it. */
const SECONDS_AHEAD = 590;
const sign = ({ world }: KillWorld, payer: TestAccount, terms: ProofTerms): Promise<SignedProof> =>
  signProof(world.chain, payer, { ...terms, secondsAhead: SECONDS_AHEAD });
const payerOf = ({ authorization }: SignedProof) => authorization.from;

interface Cart {
  goods: KillGoods;
  path: string;
  proof: SignedProof;
}

async function fillCart(scene: KillWorld): Promise<Cart & { payer: TestAccount }> {
  const [goods, payer] = [await scene.goods(), await scene.wallet()];
  return { goods, payer, path: `/api/buy/${goods.id}`, proof: await sign(scene, payer, goods.terms) };
}

const checkCart = (scene: KillWorld, { goods, proof }: Cart): Promise<void> =>
  checkSale(scene, { listingId: goods.id, from: payerOf(proof), to: goods.terms.payTo, units: goods.terms.units });

/**
 * Buys with a key in both x402 versions, and sends the proof either each time or only until the payment is pending. Every fourth run has no
 * key.
 */
export const buyByX402: Flow = async (scene, run) => {
  if (run % 4 === 3) return await buyWithoutKey(scene, run);
  const cart = await fillCart(scene);
  const { key } = await scene.member();
  const proof = inVersion(cart.proof, run);
  return {
    act: async () => {
      const answer = await retryUntilDone(scene, (last) => {
        const isUnderWay = last?.status === 202 && run % 4 === 2;
        return scene.ask('POST', cart.path, { key, ...(isUnderWay ? {} : { proof }) });
      });
      expect(answer.body).toMatchObject({ artifact: cart.goods.artifact });
    },
    check: () => checkCart(scene, cart),
  };
};

/** Collects with the delivery token if it arrived, else with a new signature over 0 USDC. */
async function buyWithoutKey(scene: KillWorld, run: number): Promise<KillFlow> {
  const cart = await fillCart(scene);
  const proof = inVersion(cart.proof, run);
  return {
    act: async () => {
      let token: string | null = null;
      let mustSign = false;
      const attempt = async (): Promise<Answer> => {
        const signed = mustSign ? inVersion(await sign(scene, cart.payer, cart.goods.terms), run) : proof;
        const asked: AskOptions = {
          proof: signed,
          ...(mustSign ? { body: { collect: true } } : {}),
          ...(token === null ? {} : { headers: { 'x-delivery-token': token } }),
        };
        const answer = await scene.ask('POST', cart.path, asked);
        const given = answer.body['delivery_token'];
        if (typeof given === 'string') token = given;
        if (answer.body['reason'] !== 'sign_to_collect') return answer;
        mustSign = true;
        return await attempt();
      };
      expect((await retryUntilDone(scene, attempt)).body).toMatchObject({ artifact: cart.goods.artifact });
    },
    check: () => checkCart(scene, cart),
  };
}

/** Waits until the payment is seen but not final. The background job must then deliver without further requests. */
export const deliverUnasked: Flow = async (scene, run) => {
  const cart = await fillCart(scene);
  const { key } = await scene.member();
  const proof = inVersion(cart.proof, run);
  const first = await askUntilMined(() => scene.ask('POST', cart.path, { key, proof }));
  expect(first.status).toBe(202);
  return {
    act: async () => {
      await scene.world.finalize();
      await awaitCompleted(scene, cart.proof);
      const answer = await scene.ask('POST', cart.path, { key });
      expect(answer).toMatchObject({ status: 200, body: { artifact: cart.goods.artifact } });
    },
    check: () => checkCart(scene, cart),
  };
};

export const listUnasked: Flow = async (scene) => {
  const stall = await openStall(scene);
  const { member, body, proof } = stall;
  await askUntilMined(() => scene.ask('POST', '/api/listing', { key: member.key, body, proof: proof.v2 }));
  return {
    act: async () => {
      await scene.world.finalize();
      await awaitCompleted(scene, proof);
      expect((await scene.ask('POST', '/api/listing', { key: member.key, body })).status).toBeLessThan(202);
    },
    check: () => checkFee(scene, stall),
  };
};

/** Repeats until the payment is seen in a block; the local chain mines at once. */
async function askUntilMined(ask: () => Promise<Answer>): Promise<Answer> {
  for (let round = 0; round < 20; round += 1) {
    const answer = await ask();
    if (answer.status === 202) return answer;
    if (answer.status !== 503) throw new Error(`not under way: ${JSON.stringify(answer.body)}`);
  }
  throw new Error('never seen in a block');
}

async function awaitCompleted(scene: KillWorld, { authorization: { from, nonce } }: SignedProof): Promise<void> {
  const status = async (): Promise<unknown> => {
    const { body } = await scene.ask('GET', `/api/payment?payer=${from}&nonce=${nonce}`);
    return (body['payment'] as Record<string, unknown> | undefined)?.['payment_status'];
  };
  await expect.poll(status, { timeout: 20_000, interval: 50 }).toBe('completed');
}

interface Stall {
  member: Member;
  body: object & { title: string };
  proof: SignedProof;
}

async function openStall(scene: KillWorld): Promise<Stall> {
  const [member, payer] = [await scene.member(), await scene.wallet()];
  return { member, body: newGoods(), proof: await sign(scene, payer, FEE_TERMS) };
}

export const listByX402: Flow = async (scene, run) => listStall(scene, run, await openStall(scene));

/** Lists goods that were uploaded before. */
export const listUploadByX402: Flow = async (scene, run) => {
  const stall = await openStall(scene);
  const goods = await uploadForKill(scene, stall.member);
  return checkAlso(listStall(scene, run, { ...stall, body: goods.body }), goods.check);
};

/** Adds a check to those of a flow. */
export function checkAlso({ act, check }: KillFlow, alsoCheck: () => Promise<void>): KillFlow {
  return {
    act,
    check: async () => {
      await check();
      await alsoCheck();
    },
  };
}

/** Uploads goods, and returns the body that lists them. `check` compares what was listed. */
export async function uploadForKill({ world: { db } }: KillWorld, member: Member) {
  const { database } = db;
  const bytes = systemRandom.bytes(700_000);
  const storing = { database, objectStore: null, clock: systemClock, random: systemRandom };
  const { id } = await seedUpload(storing, member.id, { bytes });
  return {
    body: uploadedBody(id),
    check: async () => {
      const { listing_id: listingId, payment_id: paymentId } = await uploadRow(database, id);
      expect(paymentId).toBeNull();
      expect((await bytesOf(storing, listingId ?? 0n)).equals(bytes)).toBe(true);
    },
  };
}

function listStall(scene: KillWorld, run: number, stall: Stall): KillFlow {
  const { member, body } = stall;
  const proof = inVersion(stall.proof, run);
  return {
    act: async () => {
      const answer = await retryUntilDone(scene, (last) => {
        const isUnderWay = last?.status === 202 && run % 4 >= 2;
        return scene.ask('POST', '/api/listing', { key: member.key, body, ...(isUnderWay ? {} : { proof }) });
      });
      expect(answer.body).toMatchObject({ listing: { title: body.title }, fee: { amount_usdc: 1 } });
    },
    check: () => checkFee(scene, stall),
  };
}

const checkFee = async ({ world }: KillWorld, { member, body, proof }: Stall): Promise<void> => {
  expect(await paidUnits(world.chain, payerOf(proof), treasury.address)).toEqual([FEE_TERMS.units]);
  expect(await countFeesAndListings(world, member, body.title)).toEqual({ fees: 1n, listings: 1n, events: 1n });
};

/** Counts the listings with that title, their fees and their events. */
export async function countFeesAndListings(world: KillWorld['world'], member: Member, title: string): Promise<unknown> {
  return await world.db.database.one(sql`
    with listed as (select id, fee_id from listings where title = ${title} and merchant_id = ${member.id})
    select (select count(*) from listed) as listings,
      (select count(*) from fees where id in (select fee_id from listed)) as fees,
      (select count(*) from events where kind = 'listing'
        and (convert_from(canonical, 'UTF8')::jsonb -> 'detail' ->> 'listing_id')::bigint in (select id from listed)) as events`);
}

/** Counts paid fees that bought no listing. The flows here leave none. */
export async function countUnspentFees({ db }: KillWorld['world']): Promise<bigint> {
  const { unspent } = await db.database.one<{ unspent: bigint }>(
    sql`select count(*) as unspent from fees f where not exists (select from listings l where l.fee_id = f.id)`,
  );
  return unspent;
}
