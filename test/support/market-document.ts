import { endpoints } from '../../src/contract/index.ts';
import { describeOpenApi, type OpenApi } from '../../src/contract/openapi.ts';
import { MARKET_TAGS, MARKET_TEXTS } from '../../src/contract/openapi-texts.ts';
import { NETWORKS } from '../../src/contract/vocabulary.ts';

/** The OpenAPI description of a market's endpoints, without the market's own additions. */
export function marketDocument(): OpenApi {
  return describeOpenApi({
    ...{ endpoints, texts: MARKET_TEXTS, tags: MARKET_TAGS },
    ...{ title: 'Openaisle', description: 'A market.', serverUrl: 'https://example.org' },
    ...{ key: 'Made at the door.', network: NETWORKS.base },
  });
}
