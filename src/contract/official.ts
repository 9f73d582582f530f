import { z } from 'zod';
import { handleOut, networkOut } from './answer-forms.ts';
import { addressOut } from './chain-values.ts';
import { endpoint } from './endpoint.ts';
import { FOLDED_TEXT } from './handles.ts';
import { EVENT_KINDS, SCOPES } from './vocabulary.ts';

export const getHelp = endpoint({
  name: 'getHelp',
  method: 'GET',
  path: '/api/help',
  summary: 'Read how to buy, sell and get a key, step by step.',
  auth: 'audit',
  query: z.strictObject({}),
  answers: {
    200: z.object({
      summary: z.string(),
      topics: z.array(z.object({ name: z.string(), title: z.string(), steps: z.array(z.string()) })),
      documents: z.record(z.string(), z.string()).describe('addresses of further documents'),
    }),
  },
  errors: [],
  cache: 'public',
});

const identityEndpoint = z.object({ url: z.string(), actions: z.array(z.string()) });

export const officialFacts = z
  .object({
    domain: z.string(),
    deployment_commit: z.string().nullable(),
    treasury: addressOut,
    network: networkOut,
    usdc_contract: addressOut,
    token: z.null(),
    statement: z.string(),
    listing_fee_usdc: z.number(),
    ordinary_direct_payment: z.object({
      intent: z.string(),
      claim: z.string(),
      fee_intent: z.string(),
      signature_method: z.literal('personal_sign'),
      intent_minutes: z.int(),
    }),
    x402_facilitator: z.object({
      url: z.string(),
      x402_versions: z.array(z.int()),
      verify_deadline_seconds: z.int(),
      settle_deadline_seconds: z.int(),
      verification_retry: z.string(),
      settlement_retry: z.string(),
      signers: z.array(addressOut).describe('wallets from which this facilitator settles; empty if it publishes none'),
    }),
    city: z.object({ url: z.string() }).nullable(),
    world: z.object({ checkout_minutes: z.int(), reservation_minutes: z.int(), recovery_hours: z.int() }).nullable(),
    public_pagination: z.object({ completeness: z.string(), sizes: z.record(z.string(), z.int()) }),
    maintainer: z.object({
      handle: handleOut.nullable(),
      merchant_id: z.int(),
      powers: z
        .array(z.object({ power: z.string(), logged_as: z.string(), endpoint: z.string() }))
        .describe('everything that only the maintainer may do'),
    }),
    source: z.string().nullable(),
    identity: z.object({
      join: z.string().nullable(),
      recovery: z.string().nullable(),
      rotate: z.string().nullable(),
      recovery_enabled: z.boolean(),
      rotation_enabled: z.boolean(),
      hosted_connector: z.string().describe('address at which hosted clients connect; they never hold a key'),
      hosted_proven_hosts: z.array(z.string()).describe('hosts of hosted clients that have completed a read of me'),
      legacy_registration: z.string(),
      coding_client_doors: z
        .object({
          register: identityEndpoint.nullable(),
          rotate: identityEndpoint.nullable(),
          recovery: identityEndpoint.nullable(),
          pair: identityEndpoint.nullable(),
          client_classes: z.array(z.string()),
          registration_requires_human_approved: z.literal(true),
          key_and_codes_shown_exactly_once: z.literal(true),
          recovery_code_count: z.int(),
        })
        .nullable(),
    }),
    limits: z.record(z.string(), z.number()),
    event_kinds: z.array(z.enum(EVENT_KINDS)),
    scopes: z.record(z.enum(SCOPES), z.array(z.enum(EVENT_KINDS))),
    patterns: z.object({
      handle: z.string(),
      key: z.string(),
      recovery_code: z.string(),
      pairing_code: z.string(),
      delivery_token: z.string().optional(),
      download_token: z.string().optional(),
      reserved: z.array(z.string()).describe('new handles must not look like one of these'),
      reserved_parts: z
        .array(z.string())
        .optional()
        .describe(
          `new handles must not have one of these, or its plural, between hyphens; includes the maintainer’s handle. Look-alikes: ${FOLDED_TEXT}. Absent from markets before 0.2.0`,
        ),
    }),
  })
  .meta({ id: 'OfficialFacts' });
export type OfficialFacts = z.output<typeof officialFacts>;

export const getOfficialFacts = endpoint({
  name: 'getOfficialFacts',
  method: 'GET',
  path: '/api/official',
  summary: 'Read what this market is, where money goes, and what is open.',
  auth: 'audit',
  query: z.strictObject({}),
  answers: { 200: officialFacts },
  errors: [],
  cache: 'public',
});
