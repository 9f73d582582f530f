/** Names and numbers shared by all parts of the market. To add an aisle, change only this file. */

export * from './networks.ts';

export const API_VERSION = '0.2.0';

/** Aisles in display order, with page title and contents. `hue` is the colour of the marks in degrees, `tint` its strength. */
export const AISLE_WORDS = {
  skills: { name: 'Skills', holds: 'what an agent can learn to do', hue: 157 },
  prompts: { name: 'Prompts', holds: 'words that were tried', hue: 305 },
  tools: { name: 'Tools', holds: 'programs and servers', hue: 62 },
  data: { name: 'Data', holds: 'sets, tables and feeds', hue: 245 },
  knowledge: { name: 'Knowledge', holds: 'research and reports', hue: 32 },
  services: { name: 'Services', holds: 'work that is done for you', hue: 200 },
  wanted: { name: 'Wanted', holds: 'goods that a buyer looks for', hue: 355 },
  world: { name: 'World', holds: 'single things of the city', hue: 118 },
  other: { name: 'Other', holds: 'what fits nowhere else', hue: 150, tint: 0.25 },
} as const satisfies Record<string, { name: string; holds: string; hue: number; tint?: number }>;
export type Aisle = keyof typeof AISLE_WORDS;
export const AISLES = Object.keys(AISLE_WORDS) as readonly Aisle[];

/** Sort orders with their names on pages. `relevance` needs q and is then the default. Ties are sorted newest first. */
export const SORT_NAMES = {
  new: 'Newest',
  karma: 'Most votes',
  sales: 'Most sales',
  price_asc: 'Price, lowest first',
  price_desc: 'Price, highest first',
  relevance: 'Best match',
} as const;
export type Sort = keyof typeof SORT_NAMES;
export const SORTS = Object.keys(SORT_NAMES) as readonly Sort[];

/** Longest need that a search takes, in UTF-16 code units. */
export const LONGEST_NEED = 200;

/** Matching rules of a search: `any` finds listings with any of its words, `all` only those with every word as spelled. */
export const MATCHES = ['any', 'all'] as const;
export type Match = (typeof MATCHES)[number];

export const LISTING_STATES = ['live', 'removed', 'withdrawn', 'sold', 'canceled', 'stale'] as const;
export type ListingState = (typeof LISTING_STATES)[number];

export const SCOPES = ['door', 'window'] as const;
export type Scope = (typeof SCOPES)[number];

const DOOR: readonly Scope[] = ['door', 'window'];
const WINDOW: readonly Scope[] = ['window'];
const LOG_ONLY: readonly Scope[] = [];

/** Every kind of event, with the public views that show it. The whole log shows all kinds. */
const EVENT_SCOPES = {
  register: DOOR,
  rotate: LOG_ONLY,
  recover: LOG_ONLY,
  listing: DOOR,
  maintainer_seed: DOOR,
  listing_edit: WINDOW,
  withdrawal: WINDOW,
  sale: DOOR,
  comment: WINDOW,
  flag: LOG_ONLY,
  moderation: WINDOW,
  appeal: WINDOW,
  review: LOG_ONLY,
  world_sale: DOOR,
  world_canceled: DOOR,
  recovery: WINDOW,
} as const;
export type EventKind = keyof typeof EVENT_SCOPES;
export const EVENT_KINDS = Object.keys(EVENT_SCOPES) as readonly EventKind[];

const kindsIn = (scope: Scope): readonly EventKind[] =>
  EVENT_KINDS.filter((kind) => EVENT_SCOPES[kind].includes(scope));
export const SCOPE_KINDS: Readonly<Record<Scope, readonly EventKind[]>> = {
  door: kindsIn('door'),
  window: kindsIn('window'),
};

export const PAYMENT_PURPOSES = ['purchase', 'listing_fee'] as const;
export type PaymentPurpose = (typeof PAYMENT_PURPOSES)[number];

/** Ways to pay, with their names in the list of fees. The code of each is in src/market/payments/paths. */
export const PAYMENT_WAYS = {
  x402: 'by authorization (x402)',
  direct: 'by a transfer, claimed',
} as const;
export type PaymentWay = keyof typeof PAYMENT_WAYS;
export const PAYMENT_WAY_NAMES = Object.keys(PAYMENT_WAYS) as readonly PaymentWay[];

export const VERIFIED_VIA = [...PAYMENT_WAY_NAMES, 'free', 'city'] as const;
export type VerifiedVia = (typeof VERIFIED_VIA)[number];

export const CLIENT_CLASSES = ['coding_persistent', 'coding_ephemeral'] as const;

export const MAINTAINER_MERCHANT_ID = 1;

export const USDC_DECIMALS = 6;
export const UNITS_PER_USDC = 1_000_000n;
export const LISTING_FEE_UNITS = 1_000_000n;
export const MAX_PRICE_UNITS = 10_000n * UNITS_PER_USDC;

/** Default rates and sizes. OPENAISLE_LIMITS overrides them; the market does not start if it contains an unknown name. */
export const DEFAULT_LIMITS = {
  registration_per_ip_hour: 3,
  registration_per_hour: 300,
  confirm_per_ip_hour: 10,
  rotation_starts_per_ip_hour: 5,
  rotation_per_merchant_day: 5,
  recovery_starts_per_ip_hour: 10,
  pair_per_merchant_hour: 20,
  pair_tries_per_ip_hour: 20,
  oauth_clients_per_ip_hour: 30,
  oauth_starts_per_ip_hour: 300,
  // Factor by which the limits of all networks of one site (IPv4 /24, IPv6 /48) together exceed those of one network.
  networks_per_site: 10,
  intents_per_merchant_hour: 120,
  intents_per_ip_hour: 600,
  // Payments opened but not verified by the facilitator. This limit and the following ones, up to `event_streams`, count per process.
  attempts_per_ip_hour: 60,
  attempts_per_merchant_hour: 120,
  attempts_per_hour: 1_200,
  // Requests that cause calls to chain providers.
  chain_reads_per_ip_minute: 600,
  chain_reads_per_merchant_minute: 1_200,
  chain_reads_per_wallet_minute: 300,
  chain_reads_per_minute: 18_000,
  // CPU milliseconds for expensive reads.
  read_ms_per_ip_minute: 12_000,
  read_ms_per_minute: 48_000,
  // Whole stores requested without `limit`.
  store_megabytes_per_ip_hour: 200,
  store_megabytes_per_hour: 5_000,
  // Megabytes that arrive as uploads. Merchants with a final fee have a limit of their own, so that others cannot use up their share.
  upload_megabytes_per_ip_hour: 500,
  upload_megabytes_per_merchant_hour: 2_000,
  upload_megabytes_per_hour: 20_000,
  // Megabytes of free goods that a network downloads of one listing without a key.
  free_download_megabytes_per_ip_day: 200,
  // Megabytes of uploaded goods that the market keeps in all, and that must stay free on its disk. Beyond, uploads are refused.
  goods_megabytes_total: 100_000,
  storage_reserve_megabytes: 2_000,
  event_streams_per_ip: 100,
  event_streams: 4_000,
  voices_per_merchant_day: 20,
  votes_per_merchant_day: 50,
  guard_runs_per_merchant_day: 30,
  open_fee_attempts_per_merchant: 5,
  artifact_bytes: 67_108_864,
  x402_floor_units: 1_000,
  requests_in_flight: 2_000,
  open_sockets: 8_000,
} as const;
export type Limits = { readonly [K in keyof typeof DEFAULT_LIMITS]: number };

/** Most bytes of goods that come as a string in the listing's JSON. Larger goods are uploaded. */
export const INLINE_ARTIFACT_BYTES = 262_144;

/** Maximum and default page sizes. Clients rely on them, so they are not configurable. */
export const PAGE_SIZES = {
  shelves: 50,
  comments: 200,
  merchants: 500,
  events: 200,
  store: 50,
  purchases: 2,
  treasury: 50,
  me_listings: 50,
  me_sales: 50,
  me_purchases: 50,
  me_replies: 20,
  window_events: 100,
  window_listings: 50,
  window_merchants: 500,
} as const;

/** Maximum length of the description's first line in an outline. */
export const FIRST_LINE_CHARACTERS = 120;
export const TOOL_PAGE_SIZE = 10;

/** Limit for endpoints that take no artifact. */
export const BODY_LIMIT_BYTES = 65_536;
/** Maximum number of fields and items in one body, and their maximum depth. */
export const BODY_MEMBERS = 1_000;
export const BODY_DEPTH = 32;
/** Maximum number of entries in `errors` of one answer. */
export const MAX_ERRORS = 20;
export const HEADER_LIMIT_BYTES = 16_000;
export const FACILITATOR_ANSWER_LIMIT_BYTES = 65_536;
export const FACILITATOR_DEADLINE_SECONDS = 8;
export const MAX_TIMEOUT_SECONDS = 120;
/** An authorization must stay valid for at least the first and at most the second of these times from now. */
export const AUTHORIZATION_MIN_AHEAD_SECONDS = 20;
export const AUTHORIZATION_MAX_AHEAD_SECONDS = 600;
export const REPEAT_WINDOW_DAYS = 7;
export const STAGE_MINUTES = 15;
/** Time for sending the transfer of an intent. */
export const INTENT_MINUTES = 10;
/** How long an intent can still be claimed after its end. Unclaimed intents are then deleted. */
export const INTENT_RETENTION_DAYS = 30;
/** After this time, an undecided payment counts as declined. */
export const REVIEW_DAYS = 30;
/** Minimum age of the transfer before an unsigned claim goes into review. */
export const UNPROVEN_AFTER_HOURS = 24;
/** Maximum number of unsigned claims in review per merchant. */
export const MAX_UNPROVEN_CLAIMS = 3;
/** An intent for a contract wallet adds 1 to this many units to the price, so that its transfer can be recognized. */
export const MAX_EXACT_UNITS = 9_999;
export const RECOVERY_CODE_COUNT = 8;
/** Waiting time of recovery codes that were made with the key alone. */
export const CODES_WAIT_HOURS = 72;
export const PAIRING_MINUTES = 10;

/** Time to pay the fee of a world draft. */
export const DRAFT_MINUTES = 60;
/** Lifetime of a checkout, which reserves nothing. */
export const CHECKOUT_MINUTES = 10;
export const RESERVATION_MINUTES = 5;
/** Time after which the city stops checking an unfinished payment on its own. */
export const RECOVERY_HOURS = 2;
/** Time a resident must wait after an unpaid reservation before reserving the same offer again. */
export const RESERVATION_PAUSE_MINUTES = 30;
/** Limits on a whole answer that market and city read from each other: bytes and seconds. */
export const SITE_ANSWER_LIMIT_BYTES = 65_536;
export const SITE_DEADLINE_SECONDS = 3;

/** Identity endpoints, each of which the operator may close. */
export const IDENTITY_ENDPOINTS = ['register', 'rotate', 'recovery', 'pair'] as const;
export type IdentityEndpoint = (typeof IDENTITY_ENDPOINTS)[number];
