import { z } from 'zod';
import type { EndpointShape } from '../../src/contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../src/contract/index.ts';
import type { Member } from './market-world.ts';
import type { Sending } from './send.ts';
import { newGoods } from './trade.ts';

/** A valid body that contains every field the endpoint knows. */
export interface SampleBody {
  fields: Record<string, unknown>;
  /** Fields that are stored or looked up unchanged, so any character is valid. */
  opaque: readonly string[];
  /** Well-formed fields that a valid request omits, because they refer to something that does not exist. */
  omitted?: Record<string, unknown>;
}

export interface Sample {
  name: EndpointName;
  endpoint: EndpointShape;
  path: string;
  /** One body for each form the endpoint accepts. */
  bodies: SampleBody[];
  /** Caller who is allowed to reach the operation: any merchant, the listing's owner, or the maintainer. */
  by: 'member' | 'owner' | 'maintainer';
}

const WALLET = '0x00000000000000000000000000000000000b3c1e';

/** The wallet is omitted, because the intent already names it. */
const SIGNED = { intent_id: '0'.repeat(32), payer_signature: `0x${'2'.repeat(130)}` };
const CLAIM = { intent_id: '0'.repeat(32), tx_hash: `0x${'1'.repeat(64)}`, payer_signature: `0x${'2'.repeat(130)}` };

/** The listing has its artifact as a string. */
const UPLOAD = { artifact_upload: '0'.repeat(22) };
const OMITTED_OF_LISTING = {
  ...UPLOAD,
  fee_payment: CLAIM,
  ...{ pay_anew: true, supersedes: 999_999, entitles_previous_buyers: true },
};

const SESSION = { session: 'a session', csrf: 'a csrf' };

type SampleOptions = { params?: Record<string, string>; bodies?: SampleBody[]; by?: 'owner' | 'maintainer' };

/**
 * Valid requests for all endpoints. A missing endpoint or field is a compile error. `endedId` names a listing of the same merchant that was
 * withdrawn and then removed, so ending it again changes no row.
 */
export function sampleRequests(at: { listingId: bigint; handle: string; endedId?: bigint }): Sample[] {
  const listingId = Number(at.listingId);
  const endedId = at.endedId ?? at.listingId;
  const listing = newGoods({
    ...{ artifact_encoding: 'utf-8', artifact_media_type: 'text/plain', artifact_filename: 'goods.txt' },
    ...{ tags: ['one'], keywords: ['a need', 'csv'] },
    aisle: 'tools',
    license: 'MIT',
  });
  const given: Record<EndpointName, SampleOptions> = {
    getOfficialFacts: {},
    browseShelves: {},
    getListing: { params: { id: String(at.listingId) } },
    createListing: {
      bodies: [
        {
          fields: listing,
          opaque: ['artifact'],
          omitted: OMITTED_OF_LISTING,
        },
      ],
    },
    // The request tries to change fixed fields, so only its form is valid.
    editListing: {
      params: { id: String(at.listingId) },
      bodies: [{ fields: listing, opaque: ['artifact'], omitted: UPLOAD }],
      by: 'owner',
    },
    withdrawListing: { params: { id: String(endedId) }, by: 'owner' },
    withdrawWithReason: {
      params: { id: String(endedId) },
      bodies: [{ fields: { reason: 'a reason' }, opaque: [] }],
      by: 'owner',
    },
    buyListing: {
      params: { id: String(at.listingId) },
      bodies: [
        {
          fields: { max_price_usdc: 5, collect: true, collect_salt: `0x${'5a'.repeat(32)}`, pay_anew: true },
          omitted: { tx_hash: CLAIM.tx_hash },
          opaque: [],
        },
      ],
    },
    ...directRequests(at.listingId),
    listPurchases: {},
    listUploads: {},
    getOwnListing: { params: { id: String(at.listingId) }, by: 'owner' },
    getStore: { params: { handle: at.handle } },
    listMerchants: {},
    getMe: {},
    listEvents: {},
    getWindow: {},
    getPayment: {},
    getTreasury: {},
    ...lifeRequests(listingId, Number(endedId)),
    ...doorRequests(),
    ...worldRequests(at.listingId),
    listGrants: {},
    revokeGrant: { params: { id: '00000000-0000-4000-8000-000000000000' }, bodies: [{ fields: {}, opaque: [] }] },
    getHelp: {},
  };
  return Object.entries(given).map(([name, { params, bodies, by }]) => {
    const known = name as EndpointName;
    const endpoint: EndpointShape = endpoints[known];
    const caller = endpoint.auth === 'maintainer' ? 'maintainer' : (by ?? 'member');
    return { name: known, endpoint, path: pathOf(endpoint, params ?? {}), bodies: bodies ?? [], by: caller };
  });
}

function lifeRequests(listingId: number, endedId: number) {
  return {
    setStoreLine: { bodies: [{ fields: { line: 'What it sells' }, opaque: [] }] },
    postComment: {
      bodies: [{ fields: { listing_id: listingId, body: 'a comment' }, opaque: [], omitted: { parent_id: 999_999 } }],
    },
    voteListing: { bodies: [{ fields: { listing_id: listingId }, opaque: [] }] },
    raiseFlag: {
      bodies: [{ fields: { target_type: 'listing', target_id: listingId, reason: 'a reason' }, opaque: [] }],
    },
    appealRemoval: {
      bodies: [{ fields: { listing_id: listingId, statement: 'a statement' }, opaque: [] }],
      by: 'owner' as const,
    },
    removeListing: {
      bodies: [{ fields: { listing_id: endedId, reason_code: 'policy', reason: 'a reason' }, opaque: [] }],
    },
    pinListing: { bodies: [{ fields: { listing_id: listingId, pinned: false }, opaque: [] }] },
    removeComment: {
      bodies: [{ fields: { comment_id: 999_999, reason_code: 'policy', reason: 'a reason' }, opaque: [] }],
    },
    removeText: {
      bodies: [
        {
          fields: { target_type: 'appeal', target_id: 999_999, reason_code: 'policy', reason: 'a reason' },
          opaque: [],
        },
      ],
    },
    decideAppeal: {
      bodies: [{ fields: { appeal_id: 999_999, outcome: 'removal_upheld', reason: 'a reason' }, opaque: [] }],
    },
  };
}

function doorRequests() {
  const stage = {
    action: 'stage',
    handle: 'new-merchant',
    model: 'a model',
    client_class: 'coding_persistent',
    human_approved: true,
  };
  const confirm = {
    fields: { action: 'confirm', ...SESSION, merchant_key: 'a key' },
    opaque: ['session', 'csrf', 'merchant_key'],
  };
  const cancel = { fields: { action: 'cancel', ...SESSION }, opaque: ['session', 'csrf'] };
  const code = { recovery_code: 'a code' };
  return {
    register: {
      bodies: [
        { fields: stage, opaque: [] },
        { ...confirm, fields: { ...confirm.fields, handle: 'another-one' } },
        cancel,
      ],
    },
    rotate: { bodies: [{ fields: { action: 'begin', client_class: 'any' }, opaque: [] }, confirm, cancel] },
    recovery: {
      bodies: [
        { fields: { action: 'begin', client_class: 'any', ...code }, opaque: ['recovery_code'] },
        confirm,
        cancel,
        { fields: { action: 'generate', client_class: 'any', ...code }, opaque: ['recovery_code'] },
      ],
    },
    pair: { bodies: [{ fields: {}, opaque: [] }] },
  };
}

function directRequests(listingId: bigint) {
  const params = { id: String(listingId) };
  return {
    openPurchaseIntent: {
      params,
      by: 'owner' as const,
      bodies: [{ fields: { payer_wallet: WALLET, pay_anew: true }, opaque: [], omitted: SIGNED }],
    },
    claimPurchase: { params, bodies: [{ fields: CLAIM, opaque: [] }] },
    openFeeIntent: {
      bodies: [{ fields: { payer_wallet: WALLET, pay_anew: true }, opaque: [], omitted: SIGNED }],
      by: 'maintainer' as const,
    },
    reviewPayment: {
      bodies: [{ fields: { outcome: 'refunded', tx_hash: CLAIM.tx_hash, note: 'a note' }, opaque: [] }],
    },
  };
}

/** Requests that create and sell nothing, because the draft and checkout do not exist and the listing is not a thing. */
function worldRequests(listingId: bigint) {
  const params = { listing_id: String(listingId) };
  const nothing = [{ fields: {}, opaque: [] }];
  const draft = {
    title: 'A thing',
    description: 'What it is',
    preview: 'A look at it',
    price_usdc: 4,
    seller_wallet: WALLET,
    tags: ['one'],
    keywords: ['a need'],
    thing_id: 7,
  };
  return {
    linkCity: { bodies: [{ fields: { city_handle: 'resident-one' }, opaque: [] }] },
    draftWorld: { bodies: [{ fields: draft, opaque: [] }] },
    getWorldDraft: {},
    cancelWorldDraft: { bodies: nothing },
    listWorld: {
      bodies: [
        {
          fields: { draft_id: 999_999, city_offer_id: 7 },
          opaque: [],
          omitted: { fee_payment: CLAIM, pay_anew: true },
        },
      ],
    },
    checkoutWorld: { params, bodies: [{ fields: { city_handle: 'resident-one' }, opaque: [] }] },
    getWorldCheckout: {},
    syncWorld: { params, bodies: nothing },
  };
}

export function pathOf(endpoint: EndpointShape, params: Record<string, string>): string {
  return endpoint.path.replace(/:(\w+)/g, (_, name: string) => params[name] ?? '1');
}

/**
 * Adds what a request needs to reach its schemas: a key and a valid body, where required. Uses `member`'s key unless the sample requires
 * another caller and `others` has one.
 */
export function sendingOf(
  sample: Sample,
  member: Member,
  others: { owner?: Member; maintainer?: Member } = {},
): Sending {
  const { auth } = sample.endpoint;
  const [body] = sample.bodies;
  const { key } = (sample.by === 'member' ? null : others[sample.by]) ?? member;
  return {
    ...(auth === 'key' || auth === 'maintainer' ? { key } : {}),
    ...(body ? { body: body.fields } : {}),
  };
}

/** Returns the field names of each form of an object schema. */
export function fieldNames(schema: z.ZodType | undefined): string[][] {
  if (schema === undefined) return [];
  const { anyOf, oneOf, ...whole } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const forms = anyOf ?? oneOf ?? [whole];
  return forms.map((form) => Object.keys((form as { properties?: object }).properties ?? {}));
}
