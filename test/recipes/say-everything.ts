/** Prints a default market's texts, and the defaults of its SDK and local world, as one JSON object. Runs in a recipe's copy. */
import { checksummed } from '../../src/contract/chain-values.ts';
import { usdcOfUnits } from '../../src/contract/money.ts';
import { TOOLS } from '../../src/contract/tools.ts';
import { DEFAULT_NETWORK, LISTING_FEE_UNITS } from '../../src/contract/vocabulary.ts';
import { readFacilitatorConfig } from '../../src/facilitator/config.ts';
import { usdcDomain } from '../../src/local/chain/accounts.ts';
import { LOCAL_CHAIN_ID } from '../../src/local/chain/start-chain.ts';
import { readMarketConfig } from '../../src/market/config.ts';
import { guide } from '../../src/market/guide/guide.ts';
import { PROMPTS } from '../../src/market/mcp/create-protocol-server.ts';
import { aboutDocument } from '../../src/market/pages/documents/about.ts';
import { cityBridgeDocument } from '../../src/market/pages/documents/city-bridge.ts';
import { docsJson } from '../../src/market/pages/documents/docs-index.ts';
import { supportDocument } from '../../src/market/pages/documents/support.ts';
import { termsDocument } from '../../src/market/pages/documents/terms.ts';
import { referenceFiles } from '../../src/market/pages/write-reference.ts';
import { createClient } from '../../src/sdk/client.ts';
import { readFeeTerms } from '../../src/sdk/payments/list-goods.ts';
import { SAMPLE_OFFER } from '../../src/wallet/sample-offer.ts';
import { describeMessage } from '../../src/wallet/wording.ts';
import { officialAnswer } from '../support/market-answers.ts';

const config = readMarketConfig({
  OPENAISLE_RPC_URLS: 'http://127.0.0.1:8545',
  OPENAISLE_TREASURY: `0x${'11'.repeat(20)}`,
  OPENAISLE_FACILITATOR_URL: 'http://127.0.0.1:4021',
  OPENAISLE_BASE_URL: 'https://market.example',
  OPENAISLE_CITY_URL: 'https://city.example',
});
const { network: settles } = readFacilitatorConfig({
  FACILITATOR_RPC_URL: 'http://127.0.0.1:8545',
  FACILITATOR_KEY_FILE: 'key',
});

/** Returns the fee payment that a default SDK signs for a market built from these sources. */
async function feeBySdk(): Promise<object> {
  const fee = { network: DEFAULT_NETWORK.name, usdc_contract: checksummed(DEFAULT_NETWORK.usdc) };
  const facts = officialAnswer({ ...fee, listing_fee_usdc: usdcOfUnits(LISTING_FEE_UNITS) });
  const fetch = async (): Promise<Response> => Response.json(facts === 'cut' ? null : facts.body);
  const client = createClient({ baseUrl: 'https://market.example', environment: { fetch } });
  const wallet = {
    address: `0x${'22'.repeat(20)}` as const,
    signTypedData: () => Promise.reject(new Error('unasked')),
  };
  return (await readFeeTerms({ client, wallet })).expected;
}

/** Removes recorded answers, which are not built from these sources. `npm run examples` records new ones. */
function withoutExamples([name, text]: [string, string]): [string, string] {
  if (!name.endsWith('.json')) return [name, text];
  const parsed: unknown = JSON.parse(text, (key, value: unknown) => (/^examples?$/.test(key) ? undefined : value));
  return [name, JSON.stringify(parsed, null, 2)];
}

const from = `0x${'22'.repeat(20)}` as const;
const message = {
  from,
  to: SAMPLE_OFFER.seller_wallet,
  value: '4000000',
  validAfter: '0',
  validBefore: '60',
  nonce: from,
};
const said = {
  config: { network: config.network, explorer: config.explorerUrl, settles },
  reference: [...referenceFiles()].map(withoutExamples),
  tools: TOOLS,
  prompts: PROMPTS.map(({ text }) => text({ id: '1' })),
  guide: guide(config),
  documents: [aboutDocument(config, null), termsDocument(), supportDocument(config), cityBridgeDocument(config)],
  index: docsJson(config),
  local: [LOCAL_CHAIN_ID, usdcDomain(LOCAL_CHAIN_ID)],
  sdk: await feeBySdk(),
  wallet: [SAMPLE_OFFER, describeMessage({ message } as Parameters<typeof describeMessage>[0], SAMPLE_OFFER, 0)],
};
process.stdout.write(JSON.stringify(said, (_key, value) => (typeof value === 'bigint' ? value.toString() : value)));
