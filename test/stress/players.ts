import sql from 'sql-template-tag';
import { type TestAccount, testAccount } from '../../src/local/chain/accounts.ts';
import { toBytes } from '../../src/platform/hex.ts';
import {
  type Answer,
  type AskOptions,
  askMarket,
  type Member,
  type SignedProof,
  signProof,
} from '../support/market-world.ts';
import { FEE_TERMS, type GoodsBody, newGoods } from '../support/trade.ts';
import type { Dice } from './dice.ts';
import type { Stage, StressListing } from './stage.ts';

export interface Player {
  name: string;
  member: Member | null;
  wallets: readonly TestAccount[];
  /** By listing. */
  tokens: Map<bigint, string>;
  proofs: Map<bigint | string, SignedProof>;
  bodies: readonly GoodsBody[];
}

/** A proof that was sent to a market, for what, by whom. */
export interface Sent {
  player: Player;
  proof: SignedProof;
  /** A listing; null for a fee. */
  listing: StressListing | null;
}

export interface Game {
  stage: Stage;
  players: readonly Player[];
  sent: Sent[];
  counts: Map<string, number>;
  faults: string[];
}

export async function makePlayers(stage: Stage): Promise<Player[]> {
  const players: Player[] = [];
  for (let n = 0; n < 7; n += 1) {
    const wallets = Array.from({ length: n % 3 === 0 ? 2 : 1 }, (_, w) => testAccount(`stress wallet ${n} ${w}`));
    // Two have no account: a wallet is enough to buy.
    const member = n < 5 ? await stage.world.join(`stress-buyer-${n}`) : null;
    const bodies = n < 3 ? [newGoods(), newGoods(), newGoods()] : [];
    players.push({ name: `player ${n}`, member, wallets, tokens: new Map(), proofs: new Map(), bodies });
  }
  return players;
}

/** One thing that a client may do: buy, with what it has or anew; collect; replay what it saw of others; list. */
export async function playOnce(game: Game, player: Player, dice: Dice): Promise<void> {
  if (player.member !== null && player.bodies.length > 0 && dice.chance(0.15)) return await list(game, player, dice);
  if (dice.chance(0.1)) return await observe(game, player, dice);
  if (dice.chance(0.15)) return await rush(game, player, dice);
  await buy(game, player, dice);
}

async function buy(game: Game, player: Player, dice: Dice): Promise<void> {
  const listing = dice.pick(game.stage.listings);
  const known = player.proofs.get(listing.id);
  const collect = dice.chance(0.15);
  let proof = dice.chance(0.5) ? known : undefined;
  if (proof === undefined && dice.chance(0.75)) proof = await sign(game, player, dice, listing);
  if (proof !== undefined && !collect) {
    player.proofs.set(listing.id, proof);
    game.sent.push({ player, proof, listing });
  }
  const token = dice.chance(0.5) ? player.tokens.get(listing.id) : undefined;
  const key = player.member !== null && dice.chance(0.7) ? player.member.key : undefined;
  const answer = await send(game, dice, `/api/buy/${listing.id}`, {
    ...(proof === undefined ? {} : { proof: dice.chance(0.5) ? proof.v1 : proof.v2 }),
    ...(key === undefined ? {} : { key }),
    ...(token === undefined ? {} : { headers: { 'x-delivery-token': token } }),
    ...(collect ? { body: { collect: true } } : {}),
  });
  const given = answer?.body['delivery_token'];
  if (typeof given === 'string') player.tokens.set(listing.id, given);
  if (answer !== null) await watch(game, player, answer);
}

/** A client gone wild: it signs anew for each of several requests at once, with every wallet that it has. */
async function rush(game: Game, player: Player, dice: Dice): Promise<void> {
  const listing = dice.pick(game.stage.listings);
  const key = player.member !== null && dice.chance(0.6) ? { key: player.member.key } : {};
  const proofs = await Promise.all([1, 2, 3, 4].map(() => sign(game, player, dice, listing)));
  const answers = proofs.map(async (proof) => {
    player.proofs.set(listing.id, proof);
    game.sent.push({ player, proof, listing });
    const answer = await send(game, dice, `/api/buy/${listing.id}`, { proof: proof.v2, ...key });
    if (answer !== null) await watch(game, player, answer);
  });
  await Promise.all(answers);
}

function sign(game: Game, player: Player, dice: Dice, listing: StressListing | null): Promise<SignedProof> {
  const terms = listing === null ? FEE_TERMS : listing.terms;
  const { chain } = game.stage.world;
  // Some cheques are short, so that a few run out while the facilitator is not itself.
  const secondsAhead = dice.chance(0.5) ? 22 + dice.number(20) : 120;
  return signProof(chain, dice.pick(player.wallets), { ...terms, now: game.stage.now(), secondsAhead });
}

/** Whoever reads the chain, or the wire of another, has the proof that was sent. It must open nothing. */
async function observe(game: Game, player: Player, dice: Dice): Promise<void> {
  if (game.sent.length === 0) return;
  const { proof, listing } = dice.pick(game.sent);
  if (listing === null || !(await isInLedger(game, proof))) return;
  const to = dice.chance(0.7) ? listing : dice.pick(game.stage.listings);
  const key = player.member !== null && dice.chance(0.5) ? { key: player.member.key } : {};
  const collect = dice.chance(0.3) ? { body: { collect: true } } : {};
  const answer = await send(game, dice, `/api/buy/${to.id}`, { proof: proof.v1, ...key, ...collect });
  if (answer !== null) await watch(game, player, answer);
}

async function list(game: Game, player: Player, dice: Dice): Promise<void> {
  const body = dice.pick(player.bodies);
  const known = player.proofs.get(body.title);
  let proof = dice.chance(0.5) ? known : undefined;
  if (proof === undefined && dice.chance(0.7)) proof = await sign(game, player, dice, null);
  if (proof !== undefined) {
    player.proofs.set(body.title, proof);
    game.sent.push({ player, proof, listing: null });
  }
  await send(game, dice, '/api/listing', {
    body,
    ...(player.member === null ? {} : { key: player.member.key }),
    ...(proof === undefined ? {} : { proof: dice.chance(0.5) ? proof.v1 : proof.v2 }),
  });
}

/** Null where the market was stopped under the request. */
async function send(game: Game, dice: Dice, path: string, asked: AskOptions): Promise<Answer | null> {
  const { url } = dice.pick(game.stage.markets());
  const answer = await askMarket(url, 'POST', path, asked).catch(() => null);
  const what = answer === null ? 'broken off' : `${answer.status} ${answer.body['reason'] ?? ''}`.trim();
  game.counts.set(what, (game.counts.get(what) ?? 0) + 1);
  if (answer?.status === 500) game.faults.push(`${path} was answered with 500: ${answer.body['detail']}`);
  return answer;
}

/** Hidden goods may be in an answer only to whoever bought them: with this key, or with a wallet of its own. */
export async function watch(game: Game, player: Player, answer: Answer): Promise<void> {
  const text = JSON.stringify([answer.body, [...answer.headers]]);
  for (const listing of game.stage.listings) {
    if (!text.includes(listing.canary)) continue;
    const { found } = await game.stage.world.db.database.one<{ found: bigint }>(
      sql`select count(*) as found from purchases where listing_id = ${listing.id} and (merchant_id = ${player.member?.id ?? null}
        or payer = any (${player.wallets.map(({ address }) => toBytes(address))}))`,
    );
    if (found === 0n) game.faults.push(`${player.name} was given listing ${listing.id}, which it never bought`);
    game.counts.set('delivered', (game.counts.get('delivered') ?? 0) + 1);
  }
}

export async function isInLedger(game: Game, { authorization }: SignedProof): Promise<boolean> {
  const { found } = await game.stage.world.db.database.one<{ found: boolean }>(
    sql`select exists (select from payments where payer = ${toBytes(authorization.from)}
      and nonce = ${toBytes(authorization.nonce)}) as found`,
  );
  return found;
}
