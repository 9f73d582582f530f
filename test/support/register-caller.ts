import { type Endpoints, endpoints } from '../../src/contract/index.ts';
import type { Market, MarketCall } from '../../src/market/context.ts';
import { register } from '../../src/market/identity/register.ts';

type Register = Endpoints['register'];
const answer = endpoints.register.answers[200];

export interface StagedSecrets {
  session: string;
  csrf: string;
  merchant_key: string;
  recovery_codes: string[];
  expires_at: string;
}

/** The register door as a client meets it: bodies and answers go through the endpoint's own schemas. */
export function registerCaller(market: Market) {
  const post = async (given: unknown, from: { bearer?: string; network?: string } = {}) => {
    const body = endpoints.register.body.parse(given);
    const call = { body, bearer: from.bearer ?? null, clientNetwork: from.network ?? '192.0.2.1' };
    const { status, body: answered } = await register(market, call as MarketCall<Register>);
    return { status, body: answer.parse(answered) };
  };
  return {
    post,
    stage: async (handle: string, network?: string): Promise<StagedSecrets> => {
      const { body } = await post(
        { action: 'stage', handle, model: 'test', client_class: 'coding_ephemeral', human_approved: true },
        network === undefined ? {} : { network },
      );
      if (body.status !== 'staged') throw new Error(`unexpected answer ${body.status}`);
      return body;
    },
    confirm: (staged: StagedSecrets, more: { handle?: string; bearer?: string; network?: string } = {}) => {
      const { handle, bearer = staged.merchant_key, network } = more;
      const { session, csrf } = staged;
      return post(
        { action: 'confirm', session, csrf, ...(handle === undefined ? {} : { handle }) },
        { bearer, ...(network === undefined ? {} : { network }) },
      );
    },
  };
}
