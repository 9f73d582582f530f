import { createWriteProbe } from '../../platform/database/write-probe.ts';
import { type AnyPageRoute, type Page, page } from '../../platform/http/server-options.ts';
import type { City } from '../context.ts';
import { answerRefused } from './answer-html.ts';
import { answerAsset } from './assets.ts';
import { errorIndex, errorPage } from './error-pages.ts';
import { frontPage } from './front-page.ts';
import { type HealthSources, healthz, readyz } from './health.ts';
import { offerPage } from './offer-page.ts';
import { createOpenApiPage } from './openapi-page.ts';
import { readId } from './read-id.ts';
import { residentPage } from './resident-page.ts';
import { thingPage, thingPicture } from './thing-page.ts';

/** Every address that is not an endpoint of the contract. */
export function createPages(city: City, sources: Omit<HealthSources, 'writes'>): AnyPageRoute[] {
  const forPeople = (path: string, handler: Page['handler']): Page =>
    page({ method: 'GET', path, handler, refused: (refusal) => answerRefused(city, refusal) });
  const writes = createWriteProbe(city);
  return [
    page({ method: 'GET', path: '/', handler: ({ accept }) => frontPage(city, accept) }),
    forPeople('/thing/:id', ({ params }) => thingPage(city, readId(params))),
    forPeople('/resident/:handle', ({ params }) => residentPage(city, params['handle'] ?? '')),
    forPeople('/offer/:id', ({ params }) => offerPage(city, readId(params))),
    page({
      method: 'GET',
      path: '/thing/:id/picture.svg',
      cache: 'immutable',
      handler: ({ params }) => thingPicture(city, readId(params)),
    }),
    page({ method: 'GET', path: '/docs/errors', handler: ({ accept }) => errorIndex(city, accept) }),
    page({
      method: 'GET',
      path: '/docs/errors/:reason',
      handler: ({ accept, params }) => errorPage(city, accept, params['reason'] ?? ''),
    }),
    page({ method: 'GET', path: '/openapi.json', handler: createOpenApiPage(city.config.baseUrl) }),
    page({
      method: 'GET',
      path: '/assets/:name',
      cache: 'immutable',
      handler: ({ params }) => answerAsset(params['name'] ?? ''),
    }),
    page({ method: 'GET', path: '/healthz', cache: 'private', unlimited: true, handler: healthz }),
    page({
      method: 'GET',
      path: '/readyz',
      cache: 'private',
      unlimited: true,
      handler: ({ query }) => readyz(city, { ...sources, writes }, query['strict'] !== undefined),
    }),
  ];
}
