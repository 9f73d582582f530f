import { checksummed } from '../../contract/chain-values.ts';
import { RESERVED_HANDLES, RESERVED_PARTS } from '../../contract/handles.ts';
import { HANDLE_PATTERN } from '../../contract/identity.ts';
import { type Endpoints, endpoints } from '../../contract/index.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import type { OfficialFacts } from '../../contract/official.ts';
import {
  CHECKOUT_MINUTES,
  CLIENT_CLASSES,
  EVENT_KINDS,
  type EventKind,
  FACILITATOR_DEADLINE_SECONDS,
  type IdentityEndpoint,
  INLINE_ARTIFACT_BYTES,
  INTENT_MINUTES,
  LISTING_FEE_UNITS,
  MAINTAINER_MERCHANT_ID,
  PAGE_SIZES,
  RECOVERY_CODE_COUNT,
  RECOVERY_HOURS,
  RESERVATION_MINUTES,
  SCOPE_KINDS,
} from '../../contract/vocabulary.ts';
import { toHex } from '../../platform/hex.ts';
import { secretPattern } from '../../platform/secrets.ts';
import type { MarketConfig, MarketOperation } from '../context.ts';
import { readPublishedFacts } from './store.ts';

export const STATEMENT =
  'There is no token, coin or points program. The treasury address is the only official address: it takes listing fees and nothing else. A sale is paid to the wallet of its seller.';

const COMPLETENESS =
  'Every bounded collection says its exact total, the rows returned, the page size and whether there are more; a walk is complete when its continuation is null and never gives a row twice; newest first or with an opaque cursor it gives no more rows than its first total, unless a listing is restored to a store meanwhile, and oldest first what is new comes last.';

/** Returns the facts. Features that are missing or closed appear as null, false or empty. */
export const getOfficialFacts: MarketOperation<Endpoints['getOfficialFacts']> = async (market) => {
  const { config } = market;
  const published = await readPublishedFacts(market.database, config.network.chainId, config.facilitatorUrl);
  const facts: OfficialFacts = {
    domain: new URL(config.baseUrl).host,
    deployment_commit: config.deploymentCommit,
    treasury: checksummed(config.treasury),
    network: config.network.name,
    usdc_contract: checksummed(config.network.usdc),
    token: null,
    statement: STATEMENT,
    listing_fee_usdc: usdcOfUnits(LISTING_FEE_UNITS),
    ordinary_direct_payment: {
      intent: `${config.baseUrl}${endpoints.openPurchaseIntent.path}`,
      claim: `${config.baseUrl}${endpoints.claimPurchase.path}`,
      fee_intent: `${config.baseUrl}${endpoints.openFeeIntent.path}`,
      signature_method: 'personal_sign',
      intent_minutes: INTENT_MINUTES,
    },
    x402_facilitator: facilitatorFacts(config, published.signers),
    ...cityFacts(config),
    public_pagination: { completeness: COMPLETENESS, sizes: { ...PAGE_SIZES } },
    maintainer: {
      handle: published.maintainer,
      merchant_id: MAINTAINER_MERCHANT_ID,
      powers: MAINTAINER_POWERS.map((power) => ({ ...power })),
    },
    source: config.sourceUrl,
    identity: identityFacts(config, published.provenHosts),
    limits: {
      ...config.limits,
      inline_artifact_bytes: Math.min(INLINE_ARTIFACT_BYTES, config.limits.artifact_bytes),
    },
    event_kinds: [...EVENT_KINDS],
    scopes: { door: [...SCOPE_KINDS.door], window: [...SCOPE_KINDS.window] },
    patterns: {
      handle: HANDLE_PATTERN,
      key: secretPattern('sk', config.keyPrefix),
      recovery_code: secretPattern('rc', config.keyPrefix),
      pairing_code: secretPattern('pc', config.keyPrefix),
      delivery_token: secretPattern('dt', config.keyPrefix),
      download_token: secretPattern('dl', config.keyPrefix),
      reserved: [...RESERVED_HANDLES],
      reserved_parts: [...RESERVED_PARTS, ...(published.maintainer === null ? [] : [published.maintainer])],
    },
  };
  return { status: 200, body: facts };
};

function facilitatorFacts(config: MarketConfig, signers: Buffer[]): OfficialFacts['x402_facilitator'] {
  return {
    url: config.facilitatorUrl,
    x402_versions: [1, 2],
    verify_deadline_seconds: FACILITATOR_DEADLINE_SECONDS,
    settle_deadline_seconds: FACILITATOR_DEADLINE_SECONDS,
    verification_retry:
      'A verification that times out comes before settlement: send the same request with the same proof.',
    settlement_retry:
      'After a settlement that times out the payment may have gone through: send the same request with the same proof, and do not pay again.',
    signers: signers.map((address) => checksummed(toHex(address))),
  };
}

function cityFacts({ cityUrl }: MarketConfig): Pick<OfficialFacts, 'city' | 'world'> {
  if (cityUrl === null) return { city: null, world: null };
  return {
    city: { url: cityUrl },
    world: {
      checkout_minutes: CHECKOUT_MINUTES,
      reservation_minutes: RESERVATION_MINUTES,
      recovery_hours: RECOVERY_HOURS,
    },
  };
}

const DOOR_ACTIONS = {
  register: ['stage', 'confirm', 'cancel'],
  rotate: ['begin', 'confirm', 'cancel'],
  recovery: ['begin', 'confirm', 'cancel', 'generate'],
  pair: [],
} as const satisfies Record<IdentityEndpoint, readonly string[]>;

function identityFacts(
  { baseUrl, openIdentityEndpoints }: MarketConfig,
  provenHosts: readonly string[],
): OfficialFacts['identity'] {
  const page = (door: IdentityEndpoint, path: string) => (openIdentityEndpoints.has(door) ? `${baseUrl}${path}` : null);
  const door = (name: IdentityEndpoint) =>
    openIdentityEndpoints.has(name)
      ? { url: `${baseUrl}${endpoints[name].path}`, actions: [...DOOR_ACTIONS[name]] }
      : null;
  return {
    join: page('register', '/join'),
    recovery: page('recovery', '/recovery'),
    rotate: page('rotate', '/rotate'),
    recovery_enabled: openIdentityEndpoints.has('recovery'),
    rotation_enabled: openIdentityEndpoints.has('rotate'),
    hosted_connector: `${baseUrl}/mcp/connect`,
    hosted_proven_hosts: [...provenHosts],
    legacy_registration:
      'Retired: one call that answered with a key. A stage now shows key and codes once, and a confirm with the saved key makes them real.',
    coding_client_doors:
      openIdentityEndpoints.size === 0
        ? null
        : {
            register: door('register'),
            rotate: door('rotate'),
            recovery: door('recovery'),
            pair: door('pair'),
            client_classes: [...CLIENT_CLASSES],
            registration_requires_human_approved: true,
            key_and_codes_shown_exactly_once: true,
            recovery_code_count: RECOVERY_CODE_COUNT,
          },
  };
}

interface Power {
  power: string;
  logged_as: EventKind;
}

type MaintainerEndpoint = {
  [Name in keyof Endpoints]: Endpoints[Name]['auth'] extends 'maintainer' ? Name : never;
}[keyof Endpoints];

/** Endpoints that only the maintainer may use. The type makes a missing one a compile error. */
const OWN_ENDPOINTS: Readonly<Record<MaintainerEndpoint, Power>> = {
  removeListing: { power: 'remove a listing, with a public reason', logged_as: 'moderation' },
  pinListing: { power: 'pin a live listing, and unpin one', logged_as: 'moderation' },
  removeComment: { power: 'empty a comment, with a public reason code', logged_as: 'moderation' },
  removeText: {
    power: 'empty a store line or the statement of an appeal, with a public reason code',
    logged_as: 'moderation',
  },
  decideAppeal: { power: 'decide an appeal against a removal, in public', logged_as: 'moderation' },
};

/** Additional powers of the maintainer on endpoints that every merchant may use. */
const SHARED_ENDPOINTS = {
  createListing: { power: 'list goods without the listing fee and without a cap', logged_as: 'maintainer_seed' },
  listWorld: { power: 'list a thing of the city without the listing fee', logged_as: 'maintainer_seed' },
  reviewPayment: { power: 'decide what becomes of a listing fee in review', logged_as: 'moderation' },
  getMe: { power: 'read why merchants flagged something', logged_as: 'flag' },
} as const satisfies Partial<Record<keyof Endpoints, Power>>;

/**
 * Every power that only merchant 1 has, each with the kind of event that records its use. The exception is reading flags: an event records
 * each flag, but not that the maintainer read it.
 */
export const MAINTAINER_POWERS: readonly (Power & { endpoint: string })[] = Object.entries({
  ...SHARED_ENDPOINTS,
  ...OWN_ENDPOINTS,
}).map(([name, power]) => {
  const { method, path } = endpoints[name as keyof Endpoints];
  return { ...power, endpoint: `${method} ${path}` };
});
