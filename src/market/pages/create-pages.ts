import { createWriteProbe } from '../../platform/database/write-probe.ts';
import { type AnyPageRoute, type PageAnswer, type PageCall, page } from '../../platform/http/server-options.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Market } from '../context.ts';
import { createCeremonies } from './ceremony/create-ceremonies.ts';
import { createDocuments } from './documents/create-documents.ts';
import { errorIndex, errorPage } from './error-docs.ts';
import { createFound } from './found/create-found.ts';
import { helpPage } from './found/help-page.ts';
import { type HealthSources, healthz, readyz } from './health.ts';
import { llmsText } from './llms-text.ts';
import { createOpenApiPage } from './openapi-page.ts';
import { answerAsset } from './shell/answer-asset.ts';

export interface PageSources extends Omit<HealthSources, 'writes'> {
  catalog: Pick<Catalog, 'facts' | 'fresh'>;
  /** The front page for people, the front door for programs. */
  front(call: Pick<PageCall, 'accept'>): PageAnswer;
}

/** Every address that is not an endpoint of the contract. */
export function createPages(market: Market, { payments, catalog, history, front }: PageSources): AnyPageRoute[] {
  const writes = createWriteProbe(market);
  return [
    page({ method: 'GET', path: '/', handler: front }),
    page({ method: 'GET', path: '/llms.txt', handler: () => llmsText(market) }),
    page({ method: 'GET', path: '/openapi.json', handler: createOpenApiPage(market.config.baseUrl) }),
    page({ method: 'GET', path: '/help', handler: ({ accept }) => helpPage(market.config, accept) }),
    ...createFound(market.config),
    ...createDocuments(market),
    page({ method: 'GET', path: '/docs/errors', handler: ({ accept }) => errorIndex(accept) }),
    page({
      method: 'GET',
      path: '/docs/errors/:reason',
      handler: ({ accept, params }) => errorPage(accept, params['reason'] ?? ''),
    }),
    page({
      method: 'GET',
      path: '/assets/:name',
      cache: 'immutable',
      handler: ({ params }) => answerAsset(params['name'] ?? ''),
    }),
    ...createCeremonies(market, { catalog }),
    page({ method: 'GET', path: '/healthz', cache: 'private', unlimited: true, handler: healthz }),
    page({
      method: 'GET',
      path: '/readyz',
      cache: 'private',
      unlimited: true,
      handler: ({ query }) => readyz(market, { payments, catalog, history, writes }, query['strict'] !== undefined),
    }),
  ];
}
