import { type Page, page } from '../../platform/http/server-options.ts';
import type { Market } from '../context.ts';
import type { EventTail } from '../events/event-tail.ts';
import { errorIndex, errorPage } from './error-docs.ts';
import { frontDoor } from './front-door.ts';
import { type HealthSources, healthz, readyz } from './health.ts';
import { llmsText } from './llms-text.ts';
import { createOpenApiPage } from './openapi-page.ts';

export interface PageSources extends HealthSources {
  events: EventTail;
}

/** Every address that is not an endpoint of the contract. */
export function createPages(market: Market, { payments, catalog, events }: PageSources): Page[] {
  return [
    page({ method: 'GET', path: '/', handler: (call) => frontDoor(market.config, events, call) }),
    page({ method: 'GET', path: '/llms.txt', longLived: true, handler: () => llmsText(market) }),
    page({ method: 'GET', path: '/openapi.json', longLived: true, handler: createOpenApiPage(market.config.baseUrl) }),
    page({ method: 'GET', path: '/docs/errors', longLived: true, handler: ({ accept }) => errorIndex(accept) }),
    page({
      method: 'GET',
      path: '/docs/errors/:reason',
      longLived: true,
      handler: ({ accept, params }) => errorPage(accept, params['reason'] ?? ''),
    }),
    page({ method: 'GET', path: '/healthz', cache: 'private', unlimited: true, handler: healthz }),
    page({
      method: 'GET',
      path: '/readyz',
      cache: 'private',
      unlimited: true,
      handler: () => readyz(market, { payments, catalog }),
    }),
  ];
}
