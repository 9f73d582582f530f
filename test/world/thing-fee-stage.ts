import sql from 'sql-template-tag';
import { afterAll } from 'vitest';
import type { OfferOut } from '../../src/contract/world-records.ts';
import { type TestAccount, testAccount } from '../../src/local/chain/accounts.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { type Hex, toBytes } from '../../src/platform/hex.ts';
import { type Claiming, feePayment } from '../support/direct.ts';
import {
  type Answer,
  BASE_URL,
  type Member,
  type SignedProof,
  signProof,
  type WorldOptions,
} from '../support/market-world.ts';
import { offerRecord, type ScriptedCity, startScriptedCity } from '../support/scripted-city.ts';
import { FEE_TERMS } from '../support/trade.ts';
import { type FeeStage, feeStage } from './fee-stage.ts';

/** A thing to be listed: its draft, and the city's offer for it. */
export interface DraftedThing {
  seller: Member;
  resident: string;
  draftId: number;
  offerId: bigint;
  wallet: Hex;
  body: { draft_id: number; city_offer_id: number };
}

export interface ThingFeeStage {
  stage: FeeStage;
  city: ScriptedCity;
  /** Creates a merchant who is also a resident. */
  seller(): Promise<Member>;
  link(member: Member): Promise<string>;
  draft(seller: Member, changes?: Record<string, unknown>): Promise<Answer>;
  /** Creates a draft and an offer that agree, apart from the fields in `offer`. */
  draftThing(given?: {
    seller?: Member;
    wallet?: Hex;
    offerId?: bigint;
    offer?: Partial<OfferOut>;
  }): Promise<DraftedThing>;
  show(meant: DraftedThing, changes?: Partial<OfferOut>): void;
  list(meant: DraftedThing, asked?: { proof?: SignedProof['v1'] | undefined; claim?: Claiming }): Promise<Answer>;
  /** Signs an authorization of the fee by the market's clock. Default `path`: the one for things. */
  sign(payer: TestAccount, path?: '/api/listing'): Promise<SignedProof>;
  cancel(meant: DraftedThing): Promise<Answer>;
  stateOf(meant: DraftedThing): Promise<unknown>;
  /** Returns the kind of sale for which the wallet is reserved. Null if it is free. */
  kindOf(wallet: Hex): Promise<string | null>;
}

let made = 0;

/** Starts a market on a real chain with a scripted city. */
export async function thingFeeStage(options: WorldOptions = {}): Promise<ThingFeeStage> {
  const city = await startScriptedCity();
  afterAll(() => city.close());
  const stage = feeStage({ cityUrl: city.url, ...options });

  const link = async (member: Member): Promise<string> => {
    const resident = `r-${member.handle}`;
    const named = { city_handle: resident };
    await stage.world.ask('POST', '/api/city-link', { key: member.key, body: named });
    city.showResident(resident, member.handle);
    return resident;
  };
  const seller = async (): Promise<Member> => {
    const member = await stage.merchant();
    await link(member);
    return member;
  };
  const draft: ThingFeeStage['draft'] = (by, changes = {}) => {
    const texts = { title: 'A lamp', description: 'What it is', preview: 'A look at it', tags: ['light'] };
    return stage.world.ask('POST', '/api/world/draft', {
      key: by.key,
      body: { ...texts, price_usdc: 4, thing_id: 7, ...changes },
    });
  };
  const show: ThingFeeStage['show'] = (meant, changes = {}) => {
    const { draftId, offerId, wallet, resident } = meant;
    const terms = { id: 0n, draftId: BigInt(draftId), offerId, thingId: 7n, wallet, priceUnits: 4_000_000n };
    city.showOffer(offerRecord(city, terms, { marketOrigin: BASE_URL, changes: { seller: resident, ...changes } }));
  };
  const read = (meant: DraftedThing): Promise<Answer> => stage.world.ask('GET', `/api/world/draft/${meant.draftId}`);

  return {
    ...{ stage, city, seller, link, draft, show },
    draftThing: async (given = {}) => {
      made += 1;
      const by = given.seller ?? (await seller());
      const wallet = given.wallet ?? testAccount(`wallet of thing ${made}`).address;
      const { body } = await draft(by, { seller_wallet: wallet });
      const drafted = body['draft'] as { id: number } | undefined;
      if (drafted === undefined) throw new Error(`no draft: ${JSON.stringify(body)}`);
      const offerId = given.offerId ?? BigInt(100 + made);
      const about = { draft_id: drafted.id, city_offer_id: Number(offerId) };
      const resident = `r-${by.handle}`;
      const thing = { seller: by, resident, draftId: drafted.id, offerId, wallet, body: about };
      show(thing, given.offer);
      return thing;
    },
    list: ({ seller: by, body }, { proof, claim } = {}) =>
      stage.world.ask('POST', '/api/world/listing', {
        key: by.key,
        body: claim === undefined ? body : { ...body, fee_payment: feePayment(claim) },
        ...(proof === undefined ? {} : { proof }),
      }),
    sign: (payer, path) => {
      const resource = `${BASE_URL}${path ?? '/api/world/listing'}`;
      return signProof(stage.world.chain, payer, { ...FEE_TERMS, resource, now: (options.clock ?? systemClock).now() });
    },
    cancel: ({ seller: by, draftId }) =>
      stage.world.ask('POST', `/api/world/draft/${draftId}/cancel`, { key: by.key, body: {} }),
    stateOf: async (meant) => ((await read(meant)).body['draft'] as { state: string }).state,
    kindOf: async (wallet) => {
      const row = await stage.world.db.database.maybe<{ kind: string }>(
        sql`select kind from wallet_uses where wallet = ${toBytes(wallet)}`,
      );
      return row?.kind ?? null;
    },
  };
}
