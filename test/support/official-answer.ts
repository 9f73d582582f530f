import type { z } from 'zod';
import { checksummed } from '../../src/contract/chain-values.ts';
import { getOfficialFacts } from '../../src/contract/official.ts';
import { DEFAULT_NETWORK } from '../../src/contract/vocabulary.ts';
import { TREASURY } from './market-answers.ts';
import type { Reply } from './scripted-market.ts';

/** Of the markets that tests script. */
export const DOMAIN = 'market.example';

/** Well-formed official facts, for servers that tests script. */
export function officialAnswer(fields: object = {}): Reply {
  const x402_facilitator = {
    ...{ url: '', x402_versions: [1, 2], verify_deadline_seconds: 8, settle_deadline_seconds: 8 },
    ...{ verification_retry: '', settlement_retry: '', signers: [] },
  };
  const ordinary_direct_payment = {
    ...{ intent: '/api/purchase-intent/:id', claim: '/api/claim/:id', fee_intent: '/api/fee-intent' },
    ...{ signature_method: 'personal_sign' as const, intent_minutes: 10 },
  };
  const identity = {
    ...{ join: null, recovery: null, rotate: null, recovery_enabled: false, rotation_enabled: false },
    ...{
      hosted_connector: 'https://market.example/mcp/connect',
      hosted_proven_hosts: [],
      legacy_registration: '',
      coding_client_doors: null,
    },
  };
  const body: z.input<(typeof getOfficialFacts.answers)[200]> = {
    ...{
      domain: DOMAIN,
      deployment_commit: null,
      treasury: TREASURY,
      network: DEFAULT_NETWORK.name,
      token: null,
      statement: '',
    },
    ...{ usdc_contract: checksummed(DEFAULT_NETWORK.usdc), listing_fee_usdc: 1, ordinary_direct_payment },
    ...{ x402_facilitator, city: null, world: null, source: null, identity, limits: {}, event_kinds: [] },
    ...{ public_pagination: { completeness: '', sizes: {} }, scopes: { door: [], window: [] } },
    ...{ maintainer: { handle: null, merchant_id: 1, powers: [] } },
    ...{ patterns: { handle: '', key: '', recovery_code: '', pairing_code: '', reserved: [] } },
  };
  return { status: 200, body: getOfficialFacts.answers[200].parse({ ...body, ...fields }) };
}
