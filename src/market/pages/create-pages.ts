import type { EndpointShape } from '../../contract/endpoint.ts';
import { endpoints } from '../../contract/index.ts';
import { API_VERSION } from '../../contract/vocabulary.ts';
import { isoTime } from '../../platform/clock.ts';
import { createWriteProbe } from '../../platform/database/write-probe.ts';
import { answerAsset } from '../../platform/http/assets.ts';
import {
  type AnyPageRoute,
  type Page,
  type PageAnswer,
  type PageCall,
  page,
} from '../../platform/http/server-options.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Market, MarketConfig } from '../context.ts';
import { STREAM_PATH } from '../events/stream/mount-event-stream.ts';
import { readHelp, topicsOf } from '../guide/get-help.ts';
import { type Block, type Document, guide, heading, list, SUMMARY, text } from '../guide/guide.ts';
import { readPublishedFacts } from '../guide/store.ts';
import { answerDocument, answerText, renderMarkdown } from './answer-document.ts';
import { aboutDocument } from './documents/about.ts';
import { createOpenApiPage, ENDPOINTS, endpointLines, errorIndex, errorPage } from './documents/api-reference.ts';
import { VERSIONS, type VersionEntry } from './documents/changes.ts';
import { API_CATALOG_PATH, createDiscoveryPages } from './documents/discovery.ts';
import { docsDocument, docsJson, plainDocuments } from './documents/docs-index.ts';
import { SKILL_PATH } from './documents/skill.ts';
import { type ContactFacts, SECURITY_PATH, securityContact } from './documents/support.ts';
import { answerHealthz, answerReadsReadyz, answerReadyz, type HealthSources } from './health.ts';
import { createKeyPages, KEY_PAGES } from './key-page/create-key-pages.ts';
import { ASSETS, NOTICES_PATH, THIRD_PARTY_NOTICES } from './shell/assets.ts';

export interface PageSources extends Omit<HealthSources, 'writes'> {
  catalog: Pick<Catalog, 'facts' | 'fresh'>;
  /** Answers with the front page: HTML for people, text or JSON for programs. */
  front(call: Pick<PageCall, 'accept'>): PageAnswer;
}

/** Creates the routes of documents, key pages, assets and health checks. */
export function createPages(market: Market, { payments, catalog, history, front }: PageSources): AnyPageRoute[] {
  const writes = createWriteProbe(market);
  return [
    page({ method: 'GET', path: '/', handler: front }),
    page({ method: 'GET', path: '/llms.txt', handler: () => llmsText(market) }),
    page({ method: 'GET', path: '/openapi.json', handler: createOpenApiPage(market.config) }),
    page({ method: 'GET', path: '/help', handler: ({ accept }) => helpPage(market.config, accept) }),
    ...createDiscoveryPages(market.config),
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
      handler: ({ params }) => answerAsset(ASSETS, params['name'] ?? ''),
    }),
    ...createKeyPages(market, { catalog }),
    page({ method: 'GET', path: '/healthz', cache: 'private', unlimited: true, handler: answerHealthz }),
    page({
      method: 'GET',
      path: '/readyz',
      cache: 'private',
      unlimited: true,
      handler: ({ query }) =>
        query['reads'] !== undefined
          ? answerReadsReadyz(catalog)
          : answerReadyz(market, { payments, catalog, history, writes }, query['strict'] !== undefined),
    }),
  ];
}

/** Answers with the guide, without the front page's address list and latest events. */
function helpPage(config: MarketConfig, accept: string | undefined): PageAnswer {
  const document = {
    title: 'Help',
    summary: 'How to buy, sell and get a key here, step by step.',
    blocks: [...guide(config), text('Every address of this market stands on its [front door](/).')],
  };
  return answerDocument(accept, { document, json: readHelp(config), path: '/help' });
}

function llmsText({ config }: Market): PageAnswer {
  const at = (path: string): string => `[${path}](${config.baseUrl}${path})`;
  const blocks = [
    heading('Documents'),
    list([
      `${at('/api/official')}: the facts to trust, for programs`,
      `${at('/openapi.json')}: every address with its schemas`,
      `${at('/docs/errors')}: every reason for a refusal, and what to do about it`,
      `${at(SKILL_PATH)}: this market as an agent skill`,
      `${at(API_CATALOG_PATH)}: every interface, MCP included, with what describes it`,
    ]),
    ...guide(config),
    heading('Every address'),
    list(endpointLines()),
  ];
  return answerText(renderMarkdown({ title: 'Openaisle', summary: SUMMARY, blocks }));
}

/** Creates the documents about this market, each as HTML, JSON and text, and the plain text files. */
function createDocuments({ config, clock, database }: Pick<Market, 'config' | 'clock' | 'database'>): Page[] {
  const robots = robotsText();
  return [
    documentPage('/about', async () => {
      // Read on each request, because merchant 1 may join while this process runs.
      const { maintainer } = await readPublishedFacts(database, config.network.chainId, config.facilitatorUrl);
      return { document: aboutDocument(config, maintainer) };
    }),
    ...plainDocuments(config).map(([path, document]) => fixedPage(path, document)),
    fixedPage('/changelog', changelogDocument(), changelogJson()),
    fixedPage('/docs', docsDocument(config), docsJson(config)),
    textPage('/robots.txt', () => robots),
    textPage(NOTICES_PATH, () => THIRD_PARTY_NOTICES),
    textPage(SECURITY_PATH, () => securityText(config, clock.now())),
  ];
}

interface DocumentContent {
  document: Document;
  /** JSON fields in addition to title, summary and topics. */
  more?: object;
}

function fixedPage(path: string, document: Document, more: object = {}): Page {
  return documentPage(path, () => ({ document, more }));
}

function documentPage(path: string, write: () => DocumentContent | Promise<DocumentContent>): Page {
  const handler = async ({ accept }: PageCall): Promise<PageAnswer> => {
    const { document, more = {} } = await write();
    const { title, summary, blocks } = document;
    return answerDocument(accept, { document, json: { title, summary, ...more, topics: topicsOf(blocks) }, path });
  };
  return page({ method: 'GET', path, handler });
}

function textPage(path: string, write: () => string): Page {
  return page({ method: 'GET', path, handler: () => answerText(write()) });
}

const DAY_MS = 86_400_000;
/** RFC 9116 recommends less than a year. */
const VALID_DAYS = 180;

/** Renders security.txt (RFC 9116). Its bytes change once a day. */
export function securityText(config: ContactFacts, nowMs: number): string {
  const { baseUrl } = config;
  const expires = (Math.floor(nowMs / DAY_MS) + VALID_DAYS) * DAY_MS;
  return [
    `Contact: ${securityContact(config).url}`,
    `Expires: ${isoTime(expires)}`,
    'Preferred-Languages: en',
    `Canonical: ${baseUrl}${SECURITY_PATH}`,
    `Policy: ${baseUrl}/support`,
    '',
  ].join('\n');
}

/** Renders robots.txt (RFC 9309). Allows all public pages and reads except the endless event stream. Disallows writes and private reads. */
export function robotsText(): string {
  const open = new Set(ENDPOINTS.filter(isPublicRead).map(toPattern));
  const closed = ENDPOINTS.map(toPattern).filter((pattern) => !open.has(pattern));
  const paths = [...KEY_PAGES.map(({ path }) => path), '/oauth/', STREAM_PATH, ...new Set(closed)];
  return ['User-agent: *', 'Allow: /', ...paths.map((path) => `Disallow: ${path}`), ''].join('\n');
}

function isPublicRead({ method, auth }: EndpointShape): boolean {
  return method === 'GET' && (auth === 'audit' || auth === 'public');
}

/** The pattern ends in `$`, so that longer paths stay allowed. */
function toPattern({ path }: EndpointShape): string {
  return `${path.replaceAll(/:[a-z_]+/g, '*')}$`;
}

const RULE =
  'Fields, addresses, event kinds and reasons may be added at any time: leave alone what you do not know. Nothing is changed or taken away without an entry here.';

function changelogDocument(): Document {
  return {
    title: 'Changelog',
    summary: `What changed for programs. The API here is version ${API_VERSION}.`,
    blocks: [heading('What may change'), text(RULE), ...VERSIONS.flatMap(describeVersion)],
  };
}

export function changelogJson() {
  return {
    api_version: API_VERSION,
    rule: RULE,
    versions: VERSIONS.map((entry) => ({ ...entry, endpoints: entry.endpoints.map(toEndpoint) })),
  };
}

function describeVersion({ version, changes, endpoints: names, reasons }: VersionEntry): Block[] {
  return [
    heading(version),
    list(changes),
    text(
      `New: ${names.length} endpoints and ${reasons.length} reasons. [openapi.json](/openapi.json) describes all that are in force, [Refusals](/docs/errors) explains the reasons; this page as JSON names them by version.`,
    ),
  ];
}

function toEndpoint(name: VersionEntry['endpoints'][number]) {
  const { method, path } = endpoints[name];
  return { name, method, path };
}
