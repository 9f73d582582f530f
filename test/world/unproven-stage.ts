import { expect } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { Hex } from '../../src/platform/hex.ts';
import {
  type Claiming,
  claim,
  createWorldTime,
  feePayment,
  openFeeIntent,
  openIntent,
  type ShownIntent,
  signChallenge,
} from '../support/direct.ts';
import type { Answer, Member } from '../support/market-world.ts';
import { type GoodsBody, listGoods, newGoods, PRICE, testTrade } from '../support/trade.ts';

/** Subject of a claim: goods of the seller, or the fee for a listing of the claimant. */
export interface Subject {
  kind: 'goods' | 'fee';
  units: bigint;
  /** Opens an intent that names this wallet. */
  open(by: Member, wallet: Hex): Promise<ShownIntent>;
  claim(by: Member, claiming: Claiming): Promise<Answer>;
  /** Whether an answer delivered what was paid for. */
  isTaken(answer: Answer): boolean;
  decider: Member;
}

export interface UnprovenStage {
  trade: ReturnType<typeof testTrade>;
  /** Moves time a little more than a day ahead and finalizes. */
  waitADay(): Promise<void>;
  goods(): Promise<Subject & { artifact: string; id: bigint }>;
  fee(): Promise<Subject>;
  reviewsOf(member: Member): Promise<Record<string, unknown>[]>;
  review(member: Member, id: unknown, body: object): Promise<Answer>;
  /** Creates a signature that the wallet never accepts. */
  sign(intent: ShownIntent): Promise<string>;
  time: ReturnType<typeof createWorldTime>;
}

/** Creates one world for a test file, with a clock that its tests move. */
export function unprovenStage(): UnprovenStage {
  const time = createWorldTime();
  const trade = testTrade({ clock: time.clock });
  const { world } = trade;
  return {
    trade,
    time,
    waitADay: async () => {
      await time.moveOn(world, 86_460);
      await world.finalize();
    },
    goods: async () => {
      const { id, artifact } = await trade.goods();
      return {
        ...{ kind: 'goods', units: PRICE, id, artifact, decider: trade.seller },
        open: (by, wallet) => openIntent(world, by, id, { payer_wallet: wallet }),
        claim: (by, claiming) => claim(world, by, id, claiming),
        isTaken: (answer) => JSON.stringify(answer.body).includes(artifact),
      };
    },
    fee: async () => {
      const bodies = new Map<string, GoodsBody>();
      return {
        ...{ kind: 'fee', units: 1_000_000n, decider: trade.keeper },
        open: (by, wallet) => openFeeIntent(world, by, { payer_wallet: wallet }),
        claim: (by, claiming) => {
          const body = bodies.get(by.handle) ?? newGoods();
          bodies.set(by.handle, body);
          return listGoods(world, by, { ...body, fee_payment: feePayment(claiming) });
        },
        isTaken: (answer) => answer.status < 300 && answer.body['listing_id'] !== undefined,
      };
    },
    reviewsOf: async ({ key }) => {
      const answer = await world.ask('GET', '/api/me', { key });
      expect(answer.status).toBe(200);
      return answer.body['reviews'] as Record<string, unknown>[];
    },
    review: (member, id, body) => world.ask('POST', `/api/review/${id}`, { key: member.key, body }),
    sign: (intent) => signChallenge(WORLD_ACCOUNTS.stranger, intent),
  };
}
