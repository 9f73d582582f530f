import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checksummed } from '../../src/contract/chain-values.ts';
import { usdcOfUnits } from '../../src/contract/money.ts';
import { RESERVATION_MINUTES } from '../../src/contract/vocabulary.ts';
import type { OfferOut, ResidentOut } from '../../src/contract/world-records.ts';
import { isoTime } from '../../src/platform/clock.ts';
import type { Hex } from '../../src/platform/hex.ts';
import type { SeededWorldListing } from './world-listing.ts';

/** JSON with status 200, or a function that writes the response. */
export type CityReply = object | ((response: ServerResponse) => void);

export interface ScriptedCity {
  url: string;
  asked: string[];
  /** Sets the answer for a path. Null answers not found. */
  answer(path: string, reply: CityReply | null): void;
  /** Sets the answer for every path. Null restores the answers by path. */
  answerAll(reply: CityReply | null): void;
  showOffer(offer: OfferOut): void;
  showResident(handle: string, marketHandle: string | null): void;
  close(): Promise<void>;
}

const PROBLEM = {
  status: 404,
  reason: 'not_found',
  title: 'Nothing here',
  retry: 'never',
  next_step: 'Look elsewhere.',
};

/** Starts a scripted city. It replaces a remote server, never a part of the market. */
export async function startScriptedCity(): Promise<ScriptedCity> {
  const byPath = new Map<string, CityReply>();
  const asked: string[] = [];
  let forAll: CityReply | null = null;
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const reply = forAll ?? byPath.get(path) ?? ((to: ServerResponse) => sendJson(to, 404, PROBLEM));
    if (typeof reply === 'function') reply(response);
    else sendJson(response, 200, reply);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const answer = (path: string, reply: CityReply | null): void => {
    if (reply === null) byPath.delete(path);
    else byPath.set(path, reply);
  };
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    answer,
    answerAll: (reply) => {
      forAll = reply;
    },
    showOffer: (offer) => answer(offerPath(BigInt(offer.id)), { offer }),
    showResident: (handle, marketHandle) => answer(`/api/resident/${handle}`, residentRecord(handle, marketHandle)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export const offerPath = (offerId: bigint): string => `/api/world/offer/${offerId}`;

export function residentRecord(handle: string, marketHandle: string | null): { resident: ResidentOut } {
  const joined = '2026-01-05T12:00:00.000Z';
  return { resident: { handle, market_handle: marketHandle, joined_at: joined, things: [], things_total: 0 } };
}

/** Builds the offer of a seeded listing as a city shows it. */
export function offerRecord(
  city: { url: string },
  listing: SeededWorldListing,
  given: { marketOrigin: string; changes?: Partial<OfferOut> },
): OfferOut {
  const nothing = { buyer: null, market_buyer: null, market_listing_id: null, market_checkout_id: null };
  const noTimes = { reserved_at: null, reserved_until: null, claimed_at: null, canceled_at: null, block_time: null };
  const offerUrl = `${city.url}/offer/${listing.offerId}`;
  return {
    id: Number(listing.offerId),
    phase: 'listed',
    thing_id: Number(listing.thingId),
    thing_name: 'A lamp',
    thing_url: `${city.url}/thing/${listing.thingId}`,
    locked: true,
    seller: 'resident-one',
    price_usdc: usdcOfUnits(listing.priceUnits),
    seller_wallet: checksummed(listing.wallet),
    market_origin: given.marketOrigin,
    market_draft_id: Number(listing.draftId),
    chain_id: 8453,
    created_at: '2026-01-05T12:00:00.000Z',
    tx_hash: null,
    buyer_wallet: null,
    block_number: null,
    cancel_url: `${offerUrl}/cancel`,
    offer_url: offerUrl,
    ...nothing,
    ...noTimes,
    ...given.changes,
  };
}

export interface ClaimedBy {
  buyer: string;
  marketBuyer: string;
  checkoutId: number;
  wallet: Hex;
  txHash: Hex;
  /** Unix time in seconds. */
  reservedAt: number;
  claimedAtMs: number;
}

/** Builds the fields that a city adds to a claimed offer. */
export function claimedFields(by: ClaimedBy): Partial<OfferOut> {
  const reservedAt = by.reservedAt * 1_000;
  return {
    phase: 'claimed',
    locked: false,
    buyer: by.buyer,
    market_buyer: by.marketBuyer,
    market_checkout_id: by.checkoutId,
    buyer_wallet: checksummed(by.wallet),
    tx_hash: by.txHash,
    reserved_at: isoTime(reservedAt),
    reserved_until: isoTime(reservedAt + RESERVATION_MINUTES * 60_000),
    claimed_at: isoTime(by.claimedAtMs),
  };
}
